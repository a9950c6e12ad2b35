/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A sense-reversing barrier, with a little work between.
#define TOGETHER 1
#define BATCH 200
#include "../workload.h"

static _Alignas(128) atomic_int here;
static _Alignas(128) atomic_int sense;
static _Alignas(128) struct { volatile long value; char rest[120]; } own[MOST_THREADS];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	while (operations--) {
		int now = atomic_load_explicit(&sense, memory_order_relaxed);

		for (int i = 0; i < 20; i++)
			own[thread].value++;
		if (atomic_fetch_add(&here, 1) == run_state.threads - 1) {
			atomic_store_explicit(&here, 0, memory_order_relaxed);
			atomic_store_explicit(&sense, !now, memory_order_release);
		} else {
			while (atomic_load_explicit(&sense, memory_order_acquire) == now)
				relax();
		}
	}
}
