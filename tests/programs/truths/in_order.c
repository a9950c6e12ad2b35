/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads hand words to and fro in every way: locks, counters, flags, words of their own. Prints when each thread has
 * done how much, in virtual time: any difference in the order of events shows in some of these numbers.
 *
 * in_order ROUNDS THREADS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64 };

static _Alignas(128) atomic_int lock;
static _Alignas(128) atomic_long counter;
static _Alignas(128) struct {
	atomic_long turn;
	volatile long beside;
} shared;
static _Alignas(128) struct {
	_Alignas(128) atomic_long mine;
	volatile long plain;
	atomic_long half;
} slot[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int threads, rounds;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void compute(long *x, long steps)
{
	for (long i = 0; i < steps; i++)
		*x = *x * 3 + i;
}

static void *work(void *number)
{
	long me = (long)number, next = (me + 1) % threads, x = me;

	for (long round = 0; round < rounds; round++) {
		/* What follows a locked operation that waits is computed meanwhile. */
		x += atomic_fetch_add(&counter, 1);
		compute(&x, (x ^ me) & 15);
		while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
			while (atomic_load_explicit(&lock, memory_order_relaxed))
				__builtin_ia32_pause();
		shared.beside += x & 3;
		atomic_store_explicit(&lock, 0, memory_order_release);
		slot[me].plain = x;
		atomic_store_explicit(&slot[next].mine, round, memory_order_release);
		x += atomic_load_explicit(&slot[me].mine, memory_order_acquire) + slot[next].plain;
#ifdef HALVES
		/* Hardware threads of one core, where all CPUs are in use. */
		atomic_store_explicit(&slot[(me + threads / 2) % threads].half, x, memory_order_relaxed);
		for (int look = 0; look < 6; look++)
			x += atomic_load_explicit(&slot[me].half, memory_order_relaxed) & 1;
#endif
		if ((round & 7) == 7) {
			pthread_mutex_lock(&mutex);
			compute(&x, 20);
			pthread_mutex_unlock(&mutex);
		}
		if ((round & 15) == 15) {
			/* All wait for each other, some for long. */
			long all = (round / 16 + 1) * threads;

			compute(&x, me * 40);
			if (atomic_fetch_add(&shared.turn, 1) + 1 < all)
				while (atomic_load(&shared.turn) < all && !slot[me].plain + 1)
					;
		}
	}
	slot[me].plain = now();
	return (void *)x;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 100;
	threads = argc > 2 ? atoi(argv[2]) : 2;
	pthread_t thread[MOST];
	void *x[MOST];

	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], &x[i]);
	for (long i = 0; i < threads; i++)
		printf("%ld %ld %lx\n", i, slot[i].plain, (long)x[i]);
	printf("%ld %ld\n", shared.beside, now());
	return 0;
}
