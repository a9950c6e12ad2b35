// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What OpenMP programs do, each part with a result that does not depend on how many threads there are: loops, a
 * reduction, tasks, sections, locks, ordered, nested teams, waits of unlike length at a barrier.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 2000
#define THREADS 256

static long items[ITEMS];

static long loops(void)
{
	long sum = 0;

	for (int round = 0; round < 3; round++) {
#pragma omp parallel for
		for (int i = 0; i < ITEMS; i++)
			items[i] = i + round;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 16)
		for (int i = 0; i < ITEMS; i++)
			sum += items[i];
#pragma omp parallel for reduction(+ : sum) schedule(guided)
		for (int i = 0; i < ITEMS; i++)
			sum += items[i];
	}
	return sum;
}

static long fibonacci(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fibonacci(n - 1);
#pragma omp task shared(b)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static long tasks(void)
{
	long result = 0;

#pragma omp parallel
#pragma omp single
	result = fibonacci(11);
	return result;
}

/* How many times each kind of exclusion let a thread in too many: none. */
static long exclusion(void)
{
	long critical = 0, locked = 0, atomic = 0, threads = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel
	{
#pragma omp single
		threads = omp_get_num_threads();
		for (int i = 0; i < 20; i++) {
#pragma omp critical
			critical++;
			omp_set_lock(&lock);
			locked++;
			omp_unset_lock(&lock);
#pragma omp atomic
			atomic++;
		}
	}
	omp_destroy_lock(&lock);
	return critical + locked + atomic - 60 * threads;
}

/* Each thread comes later than the one before; after the barrier all see what all have written. */
static long barriers(void)
{
	static int arrived[THREADS];
	long missing = 0;

#pragma omp parallel
	{
		int me = omp_get_thread_num();

		for (volatile int i = 0; i < 100 * me; i++)
			;
		arrived[me] = 1;
#pragma omp barrier
		for (int other = 0; other < omp_get_num_threads(); other++) {
#pragma omp atomic
			missing += !arrived[other];
		}
	}
	return missing;
}

static long in_order(void)
{
	long last = -1, wrong = 0;

#pragma omp parallel for ordered schedule(dynamic)
	for (int i = 0; i < 100; i++) {
#pragma omp ordered
		{
			wrong += last != i - 1;
			last = i;
		}
	}
	return wrong;
}

static long nested(void)
{
	long inner = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(2)
	{
#pragma omp atomic
		inner++;
	}
	return inner;
}

static long sections(void)
{
	long sum = 0;

#pragma omp parallel sections reduction(+ : sum)
	{
#pragma omp section
		sum += 1;
#pragma omp section
		sum += 10;
#pragma omp section
		sum += 100;
	}
	return sum;
}

int main(void)
{
	int threads = 0;

#pragma omp parallel
#pragma omp master
	threads = omp_get_num_threads();
	printf("%ld %ld %ld %ld %ld %ld %ld\n", loops(), tasks(), exclusion(), barriers(), in_order(), nested(),
	       sections());
	printf("%d CPUs, %d threads\n", omp_get_num_procs(), threads);
	return 0;
}
