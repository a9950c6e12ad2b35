/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A hash table with a lock in each of 256 buckets; one of four operations changes a value, the others read it.
#include "../workload.h"

enum { BUCKETS = 256, ENTRIES = 4 };
static struct bucket {
	_Alignas(64) atomic_int locked;
	unsigned key[ENTRIES], value[ENTRIES];
} bucket[BUCKETS];
static _Alignas(128) struct { unsigned long state; char rest[120]; } random_of[MOST_THREADS];
static volatile unsigned seen[MOST_THREADS][32];

static void prepare(int threads)
{
	for (int t = 0; t < threads; t++)
		random_of[t].state = (unsigned long)t * 2654435761u + 88172645463325252ul;
	for (unsigned b = 0; b < BUCKETS; b++)
		for (unsigned e = 0; e < ENTRIES; e++)
			bucket[b].key[e] = b + BUCKETS * e;
}

static void work(int thread, long operations)
{
	unsigned long x = random_of[thread].state;

	while (operations--) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		unsigned key = x % (BUCKETS * ENTRIES);
		struct bucket *b = &bucket[key % BUCKETS];

		while (atomic_exchange_explicit(&b->locked, 1, memory_order_acquire))
			relax();
		for (int e = 0; e < ENTRIES; e++)
			if (b->key[e] == key) {
				if (x >> 62 != 0)
					seen[thread][0] = b->value[e];
				else
					b->value[e]++;
			}
		atomic_store_explicit(&b->locked, 0, memory_order_release);
	}
	random_of[thread].state = x;
}
