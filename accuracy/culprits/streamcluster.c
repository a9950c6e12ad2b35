/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * PARSEC's streamcluster, pgain(): each thread adds what its points would lose into its own part of work_mem, whose
 * parts are rounded up to CACHE_LINE, 32 bytes, as in PARSEC, but lines have 64: two threads to a line.
 * Twin: CACHE_LINE is 64 (the published fix). streamcluster THREADS POINTS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TWIN
#define CACHE_LINE 64
#else
#define CACHE_LINE 32
#endif

enum { POINTS = 256, DIM = 16, CENTERS = 3 };

typedef struct {
	float coord[DIM];
	float cost;
	int assign;
} Point;

static Point p[POINTS];
static int center_table[CENTERS] = { 2, 0, 1 };
static double *work_mem;
static int stride, nproc;
static long points;

static double dist(const Point *a, const Point *b)
{
	double result = 0;

	for (int i = 0; i < DIM; i++)
		result += (double)((a->coord[i] - b->coord[i]) * (a->coord[i] - b->coord[i]));
	return result;
}

static __attribute__((noinline)) void pgain_point(double *lower, const Point *point, const Point *x)
{
	double x_cost = dist(point, x);

	lower[center_table[point->assign]] += x_cost - (double)point->cost;
}

static void *pgain(void *arg)
{
	long pid = (long)arg;
	double *lower = &work_mem[pid * stride];

	memset(lower, 0, CENTERS * sizeof *lower);
	for (long k = points * pid / nproc; k < points * (pid + 1) / nproc; k++)
		pgain_point(lower, &p[k % POINTS], &p[0]);
	return NULL;
}

/* Small whole numbers, so that sums of doubles are exact in any order. */
static void read_points(void)
{
	for (int i = 0; i < POINTS; i++) {
		for (int d = 0; d < DIM; d++)
			p[i].coord[d] = (float)((i * 31 + d * 17) % 50);
		p[i].cost = (float)(i % 20);
		p[i].assign = i % CENTERS;
	}
}

int main(int argc, char **argv)
{
	int cl = CACHE_LINE / sizeof(double);
	double found = 0, expected = 0;
	pthread_t *thread;

	nproc = argc > 1 ? atoi(argv[1]) : 2;
	points = argc > 2 ? atol(argv[2]) : 100000;
	stride = cl * ((CENTERS - 1) / cl + 1);
	work_mem = aligned_alloc(64, ((size_t)(stride * nproc) * sizeof *work_mem + 63) / 64 * 64);
	thread = malloc((size_t)nproc * sizeof *thread);
	read_points();
	for (long i = 0; i < nproc; i++)
		pthread_create(&thread[i], NULL, pgain, (void *)i);
	for (int i = 0; i < nproc; i++) {
		pthread_join(thread[i], NULL);
		for (int c = 0; c < CENTERS; c++)
			found += work_mem[i * stride + c];
	}
	for (int i = 0; i < POINTS; i++)
		expected += (dist(&p[i], &p[0]) - (double)p[i].cost) * (double)(points / POINTS + (i < points % POINTS));
	printf("gain %.0f, expected %.0f\n", found, expected);
	free(work_mem);
	free(thread);
	return found != expected;
}
