/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Phoenix's linear_regression: each thread adds its points into the five sums of its own argument, but the
 * arguments lie side by side in one array on the heap, 72 bytes each, so neighbours write the same cache line.
 * Twin: each argument begins a line of its own. linear_regression THREADS POINTS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef TWIN
#define OWN_LINE _Alignas(64)
#else
#define OWN_LINE
#endif

typedef struct {
	signed char x, y;
} POINT_T;

typedef struct {
	OWN_LINE pthread_t tid;
	unsigned long seed;
	long num_elems;
	long long SX, SY, SXX, SYY, SXY;
	long done;
} lreg_args;

/* Instead of a file: the next point, decoded from a stream of numbers. */
static POINT_T next_point(unsigned long *stream)
{
	unsigned long bits = *stream;
	POINT_T p;

	for (int i = 0; i < 12; i++) {
		bits = bits * 6364136223846793005UL + 1442695040888963407UL;
		bits ^= bits >> 29;
	}
	*stream = bits;
	p.x = (signed char)(bits >> 40 & 63);
	p.y = (signed char)(p.x / 2 + (signed char)(bits >> 50 & 7));
	return p;
}

static __attribute__((noinline)) void add_point(lreg_args *args, POINT_T p)
{
	args->SX += p.x;
	args->SXX += p.x * p.x;
	args->SY += p.y;
	args->SYY += p.y * p.y;
	args->SXY += p.x * p.y;
}

static void *linear_regression_pthread(void *args_in)
{
	lreg_args *args = args_in;
	unsigned long stream = args->seed;
	long n = args->num_elems;

	for (long i = 0; i < n; i++)
		add_point(args, next_point(&stream));
	args->done = n;
	return NULL;
}

int main(int argc, char **argv)
{
	int num_threads = argc > 1 ? atoi(argv[1]) : 2;
	long points = argc > 2 ? atol(argv[2]) : 100000, done = 0;
	lreg_args *tid_args = aligned_alloc(64, ((size_t)num_threads * sizeof *tid_args + 63) / 64 * 64);
	long long sx = 0, sy = 0, sxx = 0, sxy = 0;
	double slope;

	for (int i = 0; i < num_threads; i++) {
		tid_args[i] = (lreg_args){ .seed = (unsigned long)i + 1 };
		tid_args[i].num_elems = points * (i + 1) / num_threads - points * i / num_threads;
	}
	for (int i = 0; i < num_threads; i++)
		pthread_create(&tid_args[i].tid, NULL, linear_regression_pthread, &tid_args[i]);
	for (int i = 0; i < num_threads; i++) {
		pthread_join(tid_args[i].tid, NULL);
		sx += tid_args[i].SX;
		sy += tid_args[i].SY;
		sxx += tid_args[i].SXX;
		sxy += tid_args[i].SXY;
		done += tid_args[i].done;
	}
	slope = ((double)done * (double)sxy - (double)sx * (double)sy) / ((double)done * (double)sxx - (double)sx * (double)sx);
	printf("slope %.2f of %ld points\n", slope, done);
	free(tid_args);
	return done != points || slope < 0.4 || slope > 0.6;
}
