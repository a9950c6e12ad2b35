/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads take turns: each adds up 64 KiB that the one before it wrote, and writes its own. An operation is a line.
#define TOGETHER 1
#define BATCH 1024
#include "../workload.h"

static struct { _Alignas(64) volatile long word[8]; } lines[MOST_THREADS][BATCH];
static volatile long sum_seen[MOST_THREADS][16];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	int other = (thread + 1) % run_state.threads;
	long sum = 0;

	for (long i = 0; i < operations; i++)
		sum += lines[other][i].word[0];
	sum_seen[thread][0] = sum;
	for (long i = 0; i < operations; i++)
		lines[thread][i].word[0] = i;
}
