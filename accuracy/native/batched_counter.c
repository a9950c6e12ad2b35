/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A thread adds to a local count and puts 32 at a time into the shared one.
#include "../workload.h"

static _Alignas(128) atomic_long counter;
static _Alignas(128) struct { volatile long value; char rest[128 - sizeof(long)]; } local[MOST_THREADS];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	while (operations--)
		if (++local[thread].value == 32) {
			local[thread].value = 0;
			atomic_fetch_add(&counter, 32);
		}
}
