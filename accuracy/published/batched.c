/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counting in a cache of the thread's own that is put into a shared atomic when it is full. Build with
// -DCACHE=N (0: each time), or one of -DPLAIN, -DTLS, -DATOMIC, -DSHARDED.
#include "../workload.h"
#include <stdbool.h>

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
#ifdef CACHE
static _Thread_local struct cache **caches;
#endif
static _Alignas(128) volatile long plain;
static _Thread_local volatile long own;
static atomic_long shard[2048];

static void prepare(int threads)
{
	(void)threads;
#ifdef CACHE
	counter.threshold = CACHE;
#endif
}

#ifdef CACHE
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

static void increment(int thread)
{
	(void)thread;
#if defined(PLAIN)
	plain++;
#elif defined(TLS)
	own++;
#elif defined(ATOMIC)
	atomic_fetch_add_explicit(&counter.sum, 1, memory_order_relaxed);
#elif defined(SHARDED)
	/* Adjacent atomics; the thread's number hashed decides. */
	atomic_fetch_add_explicit(&shard[(unsigned)thread * 2654435761u >> 21], 1, memory_order_relaxed);
#elif defined(CACHE)
	add();
#else
#error "one of CACHE=N, PLAIN, TLS, ATOMIC, SHARDED"
#endif
}

static void work(int thread, long operations)
{
	while (operations--)
		increment(thread);
}
