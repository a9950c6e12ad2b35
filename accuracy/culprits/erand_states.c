/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Monte Carlo integration with a generator for each thread, as erand48() wants it: the states, three shorts each, are
 * one array: ten threads to a cache line. A common fault. Twin: each state has a line of its own.
 * The generator is erand48's, written out. erand_states THREADS DARTS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 80 };

struct generator {
#ifdef TWIN
	_Alignas(64)
#endif
	unsigned short xsubi[3];
};

static struct generator generator[MOST_THREADS];
static long darts;
static int threads;

static __attribute__((noinline)) double draw(unsigned short xsubi[3])
{
	unsigned long x = (unsigned long)xsubi[2] << 32 | (unsigned long)xsubi[1] << 16 | xsubi[0];

	x = x * 0x5deece66dUL + 0xb;
	xsubi[0] = (unsigned short)x;
	xsubi[1] = (unsigned short)(x >> 16);
	xsubi[2] = (unsigned short)(x >> 32);
	return (double)(x & 0xffffffffffffUL) * 0x1p-48;
}

/* atan'(x) by its series, for x below a half. */
static double height(double x)
{
	double sum = 1;

	for (int i = 0; i < 8; i++)
		sum = 1 - sum * x * x;
	return sum;
}

static void *throw_darts(void *number)
{
	unsigned short *xsubi = generator[(long)number].xsubi;
	long mine = darts * ((long)number + 1) / threads - darts * (long)number / threads, under = 0;

	for (long i = 0; i < mine; i++) {
		double x = draw(xsubi) * 0.5, y = draw(xsubi);

		under += y < height(x);
	}
	return (void *)under;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST_THREADS];
	double area;
	long under = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	darts = argc > 2 ? atol(argv[2]) : 100000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	for (long i = 0; i < threads; i++) {
		generator[i].xsubi[1] = (unsigned short)(i * 7919);
		generator[i].xsubi[0] = 0x330e;
		pthread_create(&thread[i], NULL, throw_darts, (void *)i);
	}
	for (int i = 0; i < threads; i++) {
		void *one;

		pthread_join(thread[i], &one);
		under += (long)one;
	}
	area = 0.5 * (double)under / (double)darts;
	printf("area %.4f\n", area);
	return area < 0.44 || area > 0.49;
}
