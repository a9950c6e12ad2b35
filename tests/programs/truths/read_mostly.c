/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Work that looks at a setting which hardly ever changes: read_mostly THREADS ROUNDS.
 * Thread 0 stores the setting once in 1,000 rounds. With -DOWN_COPY every thread has its own.
 */
#include "team.h"

#define STEPS 64

struct setting {
	_Alignas(64) atomic_int shift;
};

static struct setting settings[TEAM_MOST];
static _Alignas(64) unsigned own[TEAM_MOST][STEPS];
static int rounds;

static void work(int thread)
{
#ifdef OWN_COPY
	struct setting *setting = &settings[thread];
#else
	struct setting *setting = &settings[0];
#endif
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < STEPS; i++)
			own[thread][i] += 1u << atomic_load_explicit(&setting->shift, memory_order_relaxed);
		if (thread == 0 && round % 1000 == 500)
			atomic_store_explicit(&setting->shift, round / 1000 % 2, memory_order_release);
		COREFOLD_PROGRESS("round");
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	rounds = atoi(argv[2]);
	team_run(atoi(argv[1]), work);
	return 0;
}
