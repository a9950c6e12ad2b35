/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A server's state is one object. Its hottest line holds the ID of the next request, which each thread takes after a batch of
 * them, one for each thread; but the threads' counters, several to a line, cost more altogether, as every request raises one of them: false
 * sharing, though the line that is waited for longest is shared truly. A report that judges the object by its hottest line
 * advises against the wrong thing. Twin: each thread's counters have lines of their own, and IDs are taken for longer.
 * connection_pool THREADS REQUESTS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef TWIN
#define TWIN_TIMES 64
#else
#define TWIN_TIMES 1
#endif

enum { MOST_THREADS = 80 };

struct server {
	_Alignas(128) atomic_ulong next_id;
	_Alignas(128) struct counters {
#ifdef TWIN
		_Alignas(128)
#endif
		unsigned long requests;
		unsigned long bytes;
	} counters[MOST_THREADS];
};

static struct server server;
static long requests;
static int threads;

static __attribute__((noinline)) void count(volatile struct counters *mine, unsigned long bytes)
{
	mine->requests++;
	mine->bytes += bytes;
}

static void *serve(void *number)
{
	struct counters *mine = &server.counters[(long)number];
	long share = requests / threads, batch = TWIN_TIMES * threads;
	unsigned long x = 0;

	for (long i = 0; i < share; i++) {
		if (i % batch == 0)
			x = atomic_fetch_add(&server.next_id, (unsigned long)batch);
		for (int round = 0; round < 10; round++)
			x = x * 6364136223846793005UL + 1442695040888963407UL;
		count(mine, 64 + (x >> 60));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST_THREADS];
	unsigned long served = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	requests = argc > 2 ? atol(argv[2]) : 100000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, serve, (void *)i);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		served += server.counters[i].requests;
	}
	printf("served %lu\n", served);
	return served != (unsigned long)(requests / threads * threads);
}
