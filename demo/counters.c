/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A server's request counter. Each thread counts in a slot of its own and folds it into the total now
 * and then, so that nobody ever waits for anybody: counters THREADS [REQUESTS]
 */
#include <corefold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_THREADS 128
#define BATCH 1024

struct counter {
	atomic_int delta[MOST_THREADS];
	atomic_long total;
};

static struct counter *counter;
static int requests = 5000;
static pthread_barrier_t begin;

/* The request itself: some computing, on this thread's own data. */
static unsigned serve(unsigned *state)
{
	for (int i = 0; i < 8; i++)
		*state = *state * 1664525 + 1013904223;
	return *state;
}

static void count_request(long thread)
{
	int delta = atomic_fetch_add_explicit(&counter->delta[thread], 1, memory_order_relaxed) + 1;

	if (delta < BATCH)
		return;
	atomic_fetch_add_explicit(&counter->total, delta, memory_order_relaxed);
	atomic_fetch_sub_explicit(&counter->delta[thread], delta, memory_order_relaxed);
}

static void *server(void *thread)
{
	unsigned state = 1;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < requests; i++) {
		serve(&state);
		count_request((long)thread);
		COREFOLD_PROGRESS("request");
	}
	return (void *)(long)state;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t others[MOST_THREADS];
	double start;
	long sum;

	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	if (argc > 2)
		requests = atoi(argv[2]);
	counter = calloc(1, sizeof *counter);
	pthread_barrier_init(&begin, NULL, (unsigned)threads);
	for (long i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, server, (void *)i);
	COREFOLD_BEGIN();
	start = now();
	server((void *)0);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	printf("%.1f million requests a second\n", (double)threads * requests / (now() - start) / 1e6);
	COREFOLD_END();
	sum = counter->total;
	for (int i = 0; i < threads; i++)
		sum += counter->delta[i];
	return sum != (long)threads * requests;
}
