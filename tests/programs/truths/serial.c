/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * serial HOW THREADS: one thread has more to do than all others, in a function of its own that calls what all call.
 *
 * merges   after all have met at a condition variable
 * watched  the same, and the others spin until it is done
 * holds    under a lock that another lock's holders wait for
 * even     nothing of that: all do the same
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 80, SHARED = 800, ALONE = 1200 };

static const char *how;
static int threads, left;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static _Alignas(64) pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) atomic_int done;
static _Alignas(64) unsigned long entries;

static __attribute__((noinline)) unsigned computed(unsigned x, int steps)
{
	for (int i = 0; i < steps; i++)
		x = x * 1664525 + 1013904223;
	__asm__ __volatile__("" : "+r"(x));
	return x;
}

static __attribute__((noinline)) unsigned merge(unsigned x)
{
	for (int i = 0; i < ALONE; i++)
		x = computed(x, 1000);
	return x;
}

static __attribute__((noinline)) unsigned write_log(unsigned x)
{
	for (int i = 0; i < 30; i++) {
		pthread_mutex_lock(&inner);
		x = computed(x, 40000);
		entries++;
		pthread_mutex_unlock(&inner);
	}
	return x;
}

static __attribute__((noinline)) void add(void)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	entries++;
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
}

static void meet(void)
{
	pthread_mutex_lock(&gate);
	if (--left == 0)
		pthread_cond_broadcast(&met);
	while (left > 0)
		pthread_cond_wait(&met, &gate);
	pthread_mutex_unlock(&gate);
}

static void *work(void *number)
{
	int me = (int)(long)number;
	unsigned x = (unsigned)me;

	if (!strcmp(how, "holds")) {
		if (me == 0)
			return (void *)(long)write_log(x);
		for (int i = 0; i < SHARED / threads; i++) {
			x = computed(x, 1000);
			add();
		}
		return (void *)(long)x;
	}
	for (int i = 0; i < SHARED / threads; i++)
		x = computed(x, 1000);
	meet();
	if (me == 0 && strcmp(how, "even")) {
		x = merge(x);
		atomic_store_explicit(&done, 1, memory_order_release);
	}
	if (!strcmp(how, "watched"))
		while (!atomic_load_explicit(&done, memory_order_acquire))
			;
	return (void *)(long)x;
}

int main(int count, char **arguments)
{
	static pthread_t all[MOST_THREADS];

	if (count != 3)
		return 2;
	how = arguments[1];
	threads = left = atoi(arguments[2]);
	for (long i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("%lu\n", entries);
	return 0;
}
