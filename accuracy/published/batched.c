/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counting in a cache of the thread's own that is put into a shared atomic when it is full. Build with
// -DCACHE=N (0: each time), or one of -DPLAIN, -DTLS, -DATOMIC, -DSHARDED.
#include "../workload.h"

static _Alignas(128) atomic_long target;
static _Alignas(128) volatile long plain;
static _Thread_local volatile long own;
static _Thread_local struct { volatile long value; volatile unsigned adds; } cache;
static atomic_long shard[2048];

static void prepare(int threads) { (void)threads; }

static void increment(int thread)
{
	(void)thread;
#if defined(PLAIN)
	plain++;
#elif defined(TLS)
	own++;
#elif defined(ATOMIC)
	atomic_fetch_add_explicit(&target, 1, memory_order_relaxed);
#elif defined(SHARDED)
	/* Adjacent atomics; the thread's number hashed decides. */
	atomic_fetch_add_explicit(&shard[(unsigned)thread * 2654435761u >> 21], 1, memory_order_relaxed);
#else
	cache.value++;
	if (++cache.adds > CACHE) {
		atomic_fetch_add_explicit(&target, cache.value, memory_order_release);
		cache.value = 0;
		cache.adds = 0;
	}
#endif
}

static void work(int thread, long operations)
{
	while (operations--)
		increment(thread);
}
