/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counting in a cache of the thread's own that is put into a shared atomic when it is full: the benchmarks of folly's
// ThreadCachedInt. As there, the threads share ten million increments, and the time is that of all of them with the start and
// the end of the threads. Build with -DCACHE=N (0: each time), or one of -DTHREAD, -DTLS, -DATOMIC, -DSHARDED.
// Usage: batched THREADS
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { INCREMENTS = 10000000 };

/* The source's shared object: each addition reads its number and its threshold, which lie beside the sum. */
static _Alignas(128) struct counter {
	atomic_long sum;
	atomic_uint threshold;
	unsigned id;
} counter;
/* A thread's part of it, on the heap, found by the counter's number. */
struct cache {
	struct counter *parent;
	atomic_long value;
	unsigned adds;
	atomic_bool is_reset;
};
static atomic_long shard[2048];

#if defined(THREAD)
static _Thread_local long own;
#elif defined(TLS)
/* A class: objects are found by their numbers. */
static _Thread_local struct {
	long **objects;
	unsigned capacity;
} entry;

static long *local(void)
{
	if (counter.id >= entry.capacity) {
		entry.objects = calloc(1, sizeof(*entry.objects));
		entry.capacity = 1;
	}
	if (!entry.objects[counter.id])
		entry.objects[counter.id] = calloc(1, sizeof(long));
	return entry.objects[counter.id];
}
#elif defined(CACHE)
static _Thread_local struct cache **caches;

static struct cache *cache_of_thread(void)
{
	if (!caches) {
		caches = calloc(1, sizeof(struct cache *));
		caches[counter.id] = malloc(sizeof(struct cache));
		*caches[counter.id] = (struct cache){ .parent = &counter };
	}
	return caches[counter.id];
}

static void add(void)
{
	struct cache *cache = cache_of_thread();

	if (!atomic_load_explicit(&cache->is_reset, memory_order_acquire)) {
		long value = atomic_load_explicit(&cache->value, memory_order_relaxed);

		atomic_store_explicit(&cache->value, value + 1, memory_order_release);
	} else {
		atomic_store_explicit(&cache->value, 1, memory_order_relaxed);
		atomic_store_explicit(&cache->is_reset, false, memory_order_release);
	}
	if (++cache->adds > atomic_load_explicit(&cache->parent->threshold, memory_order_acquire)) {
		atomic_fetch_add_explicit(&cache->parent->sum, atomic_load(&cache->value), memory_order_release);
		atomic_store_explicit(&cache->value, 0, memory_order_release);
		cache->adds = 0;
	}
}
#endif

static inline void increment(void)
{
#if defined(THREAD)
	own++;
#elif defined(TLS)
	(*local())++;
#elif defined(ATOMIC)
	atomic_fetch_add(&counter.sum, 1);
#elif defined(SHARDED)
	/* Adjacent atomics; a hash of the thread's identity decides. */
	atomic_fetch_add(&shard[pthread_self() * 0x9e3779b97f4a7c15u >> 53], 1);
#elif defined(CACHE)
	add();
#else
#error "one of CACHE=N, THREAD, TLS, ATOMIC, SHARDED"
#endif
}

/* The source's threads find the number in a variable of main. */
static void *work(void *increments)
{
	for (int i = 0; i < *(const int *)increments; i++)
		increment();
	return NULL;
}

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t *thread = threads > 0 ? calloc((size_t)threads, sizeof(*thread)) : NULL;

	if (!thread)
		return 2;
#ifdef CACHE
	counter.threshold = CACHE;
#endif
	const int increments = INCREMENTS / threads;
	double begun = seconds();

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)&increments))
			return 3;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("ns_per_operation %.3f\n", (seconds() - begun) * 1e9 / increments);
	return 0;
}
