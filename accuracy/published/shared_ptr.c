/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A shared pointer is copied and the copy dropped: two locked operations on the reference count.
#include "../workload.h"

static struct { _Alignas(64) atomic_int count; } control;

static void prepare(int threads)
{
	(void)threads;
	control.count = 1;
}

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		atomic_fetch_add_explicit(&control.count, 1, memory_order_relaxed);
		if (atomic_fetch_sub_explicit(&control.count, 1, memory_order_acq_rel) == 1)
			abort();
	}
}
