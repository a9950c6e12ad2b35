/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A test-and-set lock without back-off around two adds.
#include "../workload.h"

static _Alignas(128) atomic_int locked;
static _Alignas(128) volatile long counter[2];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		while (atomic_exchange_explicit(&locked, 1, memory_order_acquire))
			;
		counter[0]++;
		counter[1]++;
		atomic_store_explicit(&locked, 0, memory_order_release);
	}
}
