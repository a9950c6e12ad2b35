/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A counter for each thread on a line of its own, plain adds.
#include "../workload.h"

static _Alignas(128) struct { volatile long value; char rest[128 - sizeof(long)]; } counter[MOST_THREADS];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	while (operations--)
		counter[thread].value++;
}
