// SPDX-License-Identifier: MIT OR Apache-2.0
// behind THREADS WORK: threads add to one counter, and between two additions compute a chain of WORK multiplications;
// prints the nanoseconds of a turn when the chain has nothing to do with the counter, when it begins with its value, and as at
// first again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 2000 };

static _Alignas(256) atomic_ulong counter;
static _Alignas(256) pthread_barrier_t start;
static unsigned long work;
static long spent[3];

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static unsigned long chain(unsigned long x)
{
	for (unsigned long i = 0; i < work; i++)
		__asm__("imul %0, %0" : "+r"(x));
	return x;
}

static void *add(void *first)
{
	unsigned long x = 3;

	for (int phase = 0; phase < 3; phase++) {
		long begun;

		pthread_barrier_wait(&start);
		begun = now();
		for (int i = 0; i < TURNS; i++) {
			unsigned long old = atomic_fetch_add(&counter, 1);

			if (phase == 1)
				x += old;
			x = chain(x);
		}
		if (first)
			spent[phase] = now() - begun;
	}
	return (void *)x;
}

int main(int argc, char **argv)
{
	pthread_t thread[8];
	long threads = argc > 1 ? atol(argv[1]) : 1;

	work = argc > 2 ? strtoul(argv[2], NULL, 10) : 60;
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (long t = 1; t < threads; t++)
		pthread_create(&thread[t], NULL, add, NULL);
	add(&start);
	for (long t = 1; t < threads; t++)
		pthread_join(thread[t], NULL);
	printf("%ld %ld %ld\n", spent[0] / TURNS, spent[1] / TURNS, spent[2] / TURNS);
	return 0;
}
