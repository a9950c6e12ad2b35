/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// One counter, raised by compare-and-swap until it succeeds.
#include "../workload.h"

static _Alignas(128) atomic_long counter;

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		long seen = atomic_load_explicit(&counter, memory_order_relaxed);

		while (!atomic_compare_exchange_weak(&counter, &seen, seen + 1))
			;
	}
}
