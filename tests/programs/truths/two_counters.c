/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two counters, each of one half of the threads: two_counters THREADS EACH. With -DPADDED they have a line each. */
#include "team.h"

#ifdef PADDED
#define OWN_LINE _Alignas(64)
#else
#define OWN_LINE
#endif

static _Alignas(64) struct {
	OWN_LINE atomic_long requests;
	OWN_LINE atomic_long replies;
} counters;
static int each;

static void work(int thread)
{
	for (int i = 0; i < each; i++) {
		if (thread % 2)
			atomic_fetch_add_explicit(&counters.replies, 1, memory_order_relaxed);
		else
			atomic_fetch_add_explicit(&counters.requests, 1, memory_order_relaxed);
		COREFOLD_PROGRESS("count");
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
	return counters.requests + counters.replies != (long)each * threads;
}
