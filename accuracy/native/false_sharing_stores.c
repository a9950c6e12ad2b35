/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counters of different threads on one line, plain stores.
#include "../workload.h"

static _Alignas(128) volatile long counter[MOST_THREADS];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	while (operations--)
		counter[thread]++;
}
