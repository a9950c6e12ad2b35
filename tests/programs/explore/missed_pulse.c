// SPDX-License-Identifier: MIT OR Apache-2.0
/* One thread raises a flag for a while; another spins until it sees it, and for ever if it comes too late.
 * FIXED leaves the flag up. */
#include "threads.h"

#include <stdatomic.h>

static atomic_int pulse, work;

static void *take_part(void *arg)
{
	int i;

	if ((long)arg == 0) {
		while (atomic_load(&pulse) == 0)
			;
		return arg;
	}
	atomic_store(&pulse, 1);
	for (i = 0; i < 2000; i++)
		atomic_fetch_add(&work, 1);
#ifndef FIXED
	atomic_store(&pulse, 0);
#endif
	return arg;
}

int main(void)
{
	run_threads(2, take_part);
	return 0;
}
