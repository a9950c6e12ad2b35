/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Computes for hours where an update is lost, as in lost_update.c, and that is no error. */
#include "threads.h"

#include <stdatomic.h>

enum { THREADS = 3, TIMES = 10 };
static atomic_int counter;
static volatile long rounds;

static void *add(void *arg)
{
	for (int i = 0; i < TIMES; i++) {
		int old = atomic_load_explicit(&counter, memory_order_relaxed);

		atomic_store_explicit(&counter, old + 1, memory_order_relaxed);
	}
	return arg;
}

int main(void)
{
	run_threads(THREADS, add);
	if (counter != THREADS * TIMES)
		for (long i = 0; i < 1L << 45; i++)
			rounds++;
	return 0;
}
