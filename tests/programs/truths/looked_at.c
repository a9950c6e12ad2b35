/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * looked_at HOW THREADS: threads look at one word again and again, and go on whatever they find. It changes now and then, and
 * nobody waits for it.
 *
 * compares  each candidate with the best so far, and then takes a mutex: that is waited for
 * maximum   raises the word to its own number by compare-and-swap, if that is larger
 * marks     exchanges the word for 1, which it mostly is; the first thread clears it
 * bits      sets the bits of a map in turn, which mostly are set; each sixteenth is cleared again
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, ROUNDS = 3200, CANDIDATES = 200, MARKS = 32000 };

static _Alignas(64) atomic_uint word = 1000000;
static _Alignas(64) pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) const char *how;
static int threads;
static _Alignas(64) unsigned long written;

static __attribute__((noinline)) unsigned computed(unsigned x, int steps)
{
	for (int i = 0; i < steps; i++)
		x = x * 1664525 + 1013904223;
	/* A compiler must not call it once for all. */
	__asm__ __volatile__("" : "+r"(x));
	return x;
}

static __attribute__((noinline)) unsigned compare(unsigned x)
{
	unsigned better = 0;

	for (int i = 0; i < CANDIDATES; i++)
		if (computed(x, 40) < atomic_load_explicit(&word, memory_order_relaxed))
			better++;
	return better;
}

static __attribute__((noinline)) unsigned raise_to(unsigned x, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		unsigned own = computed(x, 15) % 7 + 1000000 + (unsigned)i / 200, seen;

		seen = atomic_load_explicit(&word, memory_order_relaxed);
		while (own > seen && !atomic_compare_exchange_weak_explicit(&word, &seen, own, memory_order_relaxed,
									    memory_order_relaxed))
			;
	}
	return x;
}

static void *look(void *number)
{
	int me = (int)(long)number;
	unsigned x = (unsigned)me;

	if (!strcmp(how, "maximum"))
		return (void *)(long)raise_to(x, ROUNDS * CANDIDATES / threads);
	if (!strcmp(how, "marks")) {
		for (int i = 0; i < MARKS / threads; i++) {
			x = computed(x, 60);
			atomic_exchange_explicit(&word, 1, memory_order_acq_rel);
			if (me == 0 && i % 16 == 0)
				atomic_store_explicit(&word, 0, memory_order_release);
		}
		return (void *)(long)x;
	}
	if (!strcmp(how, "bits")) {
		for (int i = 0; i < MARKS / threads; i++) {
			unsigned bit = 1u << ((unsigned)(me * 7 + i) % 32);

			x = computed(x, 15);
			atomic_fetch_or_explicit(&word, bit, memory_order_relaxed);
			if (i % 16 == 0)
				atomic_fetch_and_explicit(&word, ~bit, memory_order_relaxed);
		}
		return (void *)(long)x;
	}
	for (int round = 0; round < ROUNDS / threads; round++) {
		x = compare(x);
		if (me == 0)
			atomic_fetch_sub_explicit(&word, 1, memory_order_relaxed);
		pthread_mutex_lock(&journal);
		written += computed(x, 500);
		pthread_mutex_unlock(&journal);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	static pthread_t all[MOST_THREADS];

	if (count != 3)
		return 2;
	how = arguments[1];
	threads = atoi(arguments[2]);
	for (long i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, look, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("%lu\n", written);
	return 0;
}
