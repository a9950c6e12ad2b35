/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Workers count what they do in their elements of an array of statistics, four to a cache line; main adds them up while they
 * run. A common fault: main's reads are not what costs time. Twin: each element has a line of its own.
 * thread_statistics THREADS PACKETS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_THREADS = 80 };

struct statistics {
#ifdef TWIN
	_Alignas(64)
#endif
	atomic_ulong packets;
	atomic_ulong bytes;
};

static struct statistics statistics[MOST_THREADS];
static atomic_int at_work;
static long packets;
static int threads;

static void count(atomic_ulong *word, unsigned long more)
{
	atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

static void *receive(void *number)
{
	struct statistics *mine = &statistics[(long)number];
	long share = packets / threads;
	unsigned long x = (unsigned long)(long)number;

	for (long i = 0; i < share; i++) {
		for (int round = 0; round < 10; round++)
			x = x * 6364136223846793005UL + 1442695040888963407UL;
		count(&mine->packets, 1);
		count(&mine->bytes, 64 + (x >> 60));
	}
	atomic_fetch_sub(&at_work, 1);
	return NULL;
}

static unsigned long received(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < threads; i++)
		sum += atomic_load_explicit(&statistics[i].packets, memory_order_relaxed);
	return sum;
}

int main(int argc, char **argv)
{
	const struct timespec interval = { .tv_nsec = 50000 };
	pthread_t thread[MOST_THREADS];
	unsigned long before = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	packets = argc > 2 ? atol(argv[2]) : 100000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	at_work = threads;
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, receive, (void *)i);
	while (atomic_load(&at_work)) {
		unsigned long now = received();

		if (now < before)
			return 1;
		before = now;
		nanosleep(&interval, NULL);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("packets %lu\n", received());
	return received() != (unsigned long)(packets / threads * threads);
}
