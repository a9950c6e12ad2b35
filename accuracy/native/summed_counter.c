/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Per-thread counters, and every 64th operation reads the sum of all.
#include "../workload.h"

static _Alignas(128) struct { atomic_long value; char rest[128 - sizeof(long)]; } counter[MOST_THREADS];
static volatile long sum_seen[MOST_THREADS][16];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		atomic_store_explicit(&counter[thread].value,
				      atomic_load_explicit(&counter[thread].value, memory_order_relaxed) + 1,
				      memory_order_relaxed);
		if (i % 64 == 0) {
			long sum = 0;

			for (int t = 0; t < run_state.threads; t++)
				sum += atomic_load_explicit(&counter[t].value, memory_order_relaxed);
			sum_seen[thread][0] = sum;
		}
	}
}
