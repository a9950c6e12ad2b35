/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// One counter, one atomic add an operation.
#include "../workload.h"

static _Alignas(128) atomic_long counter;

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--)
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}
