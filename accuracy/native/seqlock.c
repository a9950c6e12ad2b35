/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Thread 0 writes four words under a sequence count every 32nd operation; all other operations read them.
#include "../workload.h"

static _Alignas(64) struct { atomic_uint sequence; atomic_long word[4]; } data;
static volatile long sum_seen[MOST_THREADS][16];

static void prepare(int threads) { (void)threads; }

static void publish(long value)
{
	unsigned sequence = atomic_load_explicit(&data.sequence, memory_order_relaxed);

	atomic_store_explicit(&data.sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (int w = 0; w < 4; w++)
		atomic_store_explicit(&data.word[w], value, memory_order_relaxed);
	atomic_store_explicit(&data.sequence, sequence + 2, memory_order_release);
}

static long snapshot(void)
{
	unsigned before, after;
	long sum;

	do {
		before = atomic_load_explicit(&data.sequence, memory_order_acquire);
		sum = 0;
		for (int w = 0; w < 4; w++)
			sum += atomic_load_explicit(&data.word[w], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&data.sequence, memory_order_relaxed);
	} while (before != after || before % 2);
	return sum;
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		if (thread == 0 && i % 32 == 0)
			publish(i);
		else
			sum_seen[thread][0] = snapshot();
	}
}
