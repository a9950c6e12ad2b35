/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All threads share one queue lock: mcs THREADS TURNS, the turns divided among the threads. */
#include "locks.h"
#include "team.h"

static struct mcs_lock lock;
static _Alignas(64) long guarded;
static struct mcs_node nodes[TEAM_MOST];
static int turns;

static void work(int thread)
{
	struct mcs_node *me = &nodes[thread];

	for (int turn = 0; turn < turns; turn++) {
		mcs_lock(&lock, me);
		guarded++;
		mcs_unlock(&lock, me);
		COREFOLD_PROGRESS("turn");
	}
}

int main(int argc, char **argv)
{
	int threads;

	if (argc != 3)
		return 2;
	threads = atoi(argv[1]);
	turns = atoi(argv[2]) / threads;
	team_run(threads, work);
	return guarded != (long)turns * threads;
}
