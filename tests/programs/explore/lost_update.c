// SPDX-License-Identifier: MIT OR Apache-2.0
/* Three threads add to a counter. An update is lost where another comes between a load and its store. */
#include "threads.h"

#include <stdatomic.h>

enum { THREADS = 3, TIMES = 10 };
#ifdef PLAIN
static int counter;
#else
static atomic_int counter;
#endif

static void *add(void *arg)
{
	int i;

	for (i = 0; i < TIMES; i++) {
#if defined(FIXED)
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
#elif defined(PLAIN)
		counter++;
#else
		int old = atomic_load_explicit(&counter, memory_order_relaxed);

		atomic_store_explicit(&counter, old + 1, memory_order_relaxed);
#endif
	}
	return arg;
}

int main(void)
{
	run_threads(THREADS, add);
	require(counter == THREADS * TIMES, "updates were lost");
	return 0;
}
