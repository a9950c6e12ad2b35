/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All threads share one test-and-set lock: tas THREADS TURNS, the turns divided among the threads. */
#include "locks.h"
#include "team.h"

static _Alignas(64) struct tas_lock lock;
static _Alignas(64) long guarded;
static int turns;

static void work(int thread)
{
	(void)thread;
	for (int turn = 0; turn < turns; turn++) {
		tas_lock(&lock);
		guarded++;
		tas_unlock(&lock);
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
