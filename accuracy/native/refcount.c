/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// References to one of eight shared objects are taken and given back.
#include "../workload.h"

static struct { _Alignas(64) atomic_int references; long value; } object[8];
static volatile long seen[MOST_THREADS][16];

static void prepare(int threads)
{
	(void)threads;
	for (int i = 0; i < 8; i++)
		atomic_init(&object[i].references, 1);
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		int which = (i * 5 + thread * 3) % 8;

		atomic_fetch_add_explicit(&object[which].references, 1, memory_order_relaxed);
		seen[thread][0] = object[which].value;
		atomic_fetch_sub_explicit(&object[which].references, 1, memory_order_acq_rel);
	}
}
