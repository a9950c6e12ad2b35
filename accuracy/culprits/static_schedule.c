/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A loop over an array divided as OpenMP's schedule(static, 1) does: thread t updates elements t, t + T, t + 2T ...,
 * so that eight threads write each cache line. Twin: contiguous blocks of whole lines, as schedule(static) with the
 * chunk rounded up. static_schedule THREADS UPDATES
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RODS = 1280, PER_LINE = 8 };

static double *temperature;
static int threads;
static long steps;

/* What surrounds rod i: a sum of harmonics, different for each rod. */
static double ambient(int i)
{
	double x = i * 0.001, sum = 0;

	for (int k = 0; k < 10; k++)
		sum = sum * x + 1.0 / (k + 1);
	return sum;
}

/* The air comes from the thread's last rod, warmer or colder; returns how much it is when it leaves this one. */
static __attribute__((noinline)) double cool(int i, double warmer)
{
	double surroundings = ambient(i);

	temperature[i] += 0.25 * (surroundings + 0.01 * warmer - temperature[i]);
	return temperature[i] - surroundings;
}

static void *simulate(void *arg)
{
	int t = (int)(long)arg;
#ifdef TWIN
	int chunk = (RODS / threads + PER_LINE - 1) / PER_LINE * PER_LINE;
	int from = t * chunk < RODS ? t * chunk : RODS;
	int to = t == threads - 1 || from + chunk > RODS ? RODS : from + chunk, by = 1;
#else
	int from = t, to = RODS, by = threads;
#endif
	double warmer = 0;

	for (long step = 0; step < steps; step++)
		for (int i = from; i < to; i += by)
			warmer = cool(i, warmer);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t *thread;
	int wrong = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	steps = (argc > 2 ? atol(argv[2]) : 100000) / RODS;
	if (steps < 100)
		steps = 100;
	temperature = aligned_alloc(64, RODS * sizeof *temperature);
	thread = malloc((size_t)threads * sizeof *thread);
	for (int i = 0; i < RODS; i++)
		temperature[i] = 300;
	for (long t = 0; t < threads; t++)
		pthread_create(&thread[t], NULL, simulate, (void *)t);
	for (int t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	for (int i = 0; i < RODS; i++)
		wrong += fabs(temperature[i] - ambient(i)) > 1e-6;
	printf("%ld steps, %d rods not at rest\n", steps, wrong);
	free(temperature);
	free(thread);
	return wrong != 0;
}
