/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads read under a reader-writer lock: pthread's, or with -DOWN what glibc's readers do, written out. Prints the nanoseconds of
// a pair of lock and unlock with a microsecond of work in between, and with "calls" those of other calls of pthread instead.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 60, CALLS = 10000 };

static pthread_barrier_t all;
#ifdef OWN
static _Alignas(64) struct { atomic_uint readers; unsigned others[5]; int owner; } lock;

static void take(void)
{
	if (*(volatile int *)&lock.owner == -1)
		abort();
	atomic_fetch_add(&lock.readers, 8);
}

static void release(void)
{
	if (*(volatile int *)&lock.owner == -1)
		abort();
	unsigned seen = atomic_load_explicit(&lock.readers, memory_order_relaxed);

	while (!atomic_compare_exchange_strong(&lock.readers, &seen, seen - 8))
		;
}
#else
static _Alignas(64) pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void take(void) { pthread_rwlock_rdlock(&lock); }
static void release(void) { pthread_rwlock_unlock(&lock); }
#endif

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *reader(void *unused)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < ROUNDS; i++) {
		take();
		for (long from = now(); now() - from < 1000;)
			;
		release();
	}
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1;
	pthread_t thread[64];

	if (argc > 1 && !strcmp(argv[1], "calls")) {
		pthread_key_t key;
		volatile long sink;

		pthread_key_create(&key, NULL);
		pthread_setspecific(key, &key);
		long begun = now();
		for (int i = 0; i < CALLS; i++)
			sink = (long)pthread_getspecific(key);
		long asked = now();
		for (int i = 0; i < CALLS / 10; i++)
			sink = getpid();
		long over = now();
		(void)sink;
		printf("getspecific %.2f getpid %.0f\n", (double)(asked - begun) / CALLS, (double)(over - asked) * 10 / CALLS);
		return 0;
	}
	pthread_barrier_init(&all, NULL, (unsigned)threads + 1);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, reader, NULL);
	pthread_barrier_wait(&all);
	long begun = now();
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", (now() - begun) / ROUNDS);
	return 0;
}
