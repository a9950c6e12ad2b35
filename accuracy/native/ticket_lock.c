/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A ticket lock around two adds.
#include "../workload.h"

static _Alignas(128) struct { atomic_uint next, serving; } lock;
static _Alignas(128) volatile long counter[2];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		unsigned mine = atomic_fetch_add_explicit(&lock.next, 1, memory_order_relaxed);

		while (atomic_load_explicit(&lock.serving, memory_order_acquire) != mine)
			relax();
		counter[0]++;
		counter[1]++;
		atomic_store_explicit(&lock.serving, mine + 1, memory_order_release);
	}
}
