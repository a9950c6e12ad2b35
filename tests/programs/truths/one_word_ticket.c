/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * one_word_ticket THREADS ROUNDS: a ticket lock whose two numbers are one word, so that each arrival changes what all that wait
 * look at, and hardly a look finds what the one before found. They pause in between.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 128, NEXT = 1 << 16 };

static _Alignas(64) atomic_uint ticket;
static _Alignas(64) unsigned long total;
static long rounds;

static __attribute__((noinline)) void lock(void)
{
	unsigned mine = atomic_fetch_add_explicit(&ticket, NEXT, memory_order_acquire);

	if (mine >> 16 == (mine & 0xffff))
		return;
	while ((atomic_load_explicit(&ticket, memory_order_acquire) & 0xffff) != mine >> 16)
		__builtin_ia32_pause();
}

/* Of the half that only the owner writes. */
static __attribute__((noinline)) void unlock(void)
{
	_Atomic unsigned short *serving = (_Atomic unsigned short *)&ticket;

	atomic_store_explicit(serving, (unsigned short)(atomic_load_explicit(serving, memory_order_relaxed) + 1),
			      memory_order_release);
}

static void *work(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		lock();
		total++;
		unlock();
	}
	return unused;
}

int main(int count, char **arguments)
{
	static pthread_t all[MOST_THREADS];
	int threads = count == 3 ? atoi(arguments[1]) : 0;

	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	rounds = atol(arguments[2]);
	for (int i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("%lu\n", total);
	return 0;
}
