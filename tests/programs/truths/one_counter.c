/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everybody adds to one counter: one_counter THREADS EACH */
#include "team.h"

static _Alignas(64) atomic_long counter;
static int each;

static void work(int thread)
{
	(void)thread;
	for (int i = 0; i < each; i++) {
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
		COREFOLD_PROGRESS("add");
	}
}

int main(int argc, char **argv)
{
	int threads;

	if (argc != 3)
		return 2;
	threads = atoi(argv[1]);
	each = atoi(argv[2]);
	team_run(threads, work);
	return counter != (long)each * threads;
}
