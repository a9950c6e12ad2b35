/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counters of different threads on one line, atomic adds.
#include "../workload.h"

static _Alignas(128) atomic_long counter[MOST_THREADS];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	while (operations--)
		atomic_fetch_add_explicit(&counter[thread], 1, memory_order_relaxed);
}
