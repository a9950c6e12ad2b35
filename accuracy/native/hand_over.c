/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A producer fills eight lines and sets a flag, the consumer reads them and clears it. Alone: both by turns.
#define TOGETHER 1
#define BATCH 200
#include "../workload.h"

static _Alignas(128) atomic_int full;
static struct { _Alignas(64) volatile long word[8]; } lines[8];
static volatile long sum_seen[16];

static void prepare(int threads) { (void)threads; }

static void fill(long value)
{
	while (atomic_load_explicit(&full, memory_order_acquire))
		relax();
	for (int l = 0; l < 8; l++)
		lines[l].word[0] = value;
	atomic_store_explicit(&full, 1, memory_order_release);
}

static void empty(void)
{
	long sum = 0;

	while (!atomic_load_explicit(&full, memory_order_acquire))
		relax();
	for (int l = 0; l < 8; l++)
		sum += lines[l].word[0];
	sum_seen[0] = sum;
	atomic_store_explicit(&full, 0, memory_order_release);
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		if (run_state.threads == 1 || thread == 0)
			fill(i);
		if (run_state.threads == 1 || thread == 1)
			empty();
	}
}
