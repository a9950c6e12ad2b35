/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A ring between one producer and one consumer; alone, a thread puts and takes by turns.
#define TOGETHER 1
#include "../workload.h"

enum { SLOTS = 256 };
static _Alignas(128) atomic_ulong head;
static _Alignas(128) atomic_ulong tail;
static _Alignas(128) volatile long slot[SLOTS];
static _Alignas(128) volatile long taken;

static void prepare(int threads) { (void)threads; }

static int put(long value)
{
	unsigned long at = atomic_load_explicit(&head, memory_order_relaxed);

	if (at - atomic_load_explicit(&tail, memory_order_acquire) == SLOTS)
		return 0;
	slot[at % SLOTS] = value;
	atomic_store_explicit(&head, at + 1, memory_order_release);
	return 1;
}

static int take(void)
{
	unsigned long at = atomic_load_explicit(&tail, memory_order_relaxed);

	if (at == atomic_load_explicit(&head, memory_order_acquire))
		return 0;
	taken = slot[at % SLOTS];
	atomic_store_explicit(&tail, at + 1, memory_order_release);
	return 1;
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		if (run_state.threads == 1) {
			put(i);
			take();
		} else if (thread % 2 == 0) {
			while (!put(i))
				relax();
		} else {
			while (!take())
				relax();
		}
	}
}
