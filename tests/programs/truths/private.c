/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every thread works on memory of its own: private THREADS ROUNDS */
#include "team.h"

#define WORDS 512

static int rounds;

static void work(int thread)
{
	unsigned *own = aligned_alloc(64, WORDS * sizeof *own);

	if (!own)
		exit(4);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < WORDS; i++)
			own[i] = own[i] * 3 + (unsigned)(i ^ thread);
		COREFOLD_PROGRESS("round");
	}
	free(own);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	rounds = atoi(argv[2]);
	team_run(atoi(argv[1]), work);
	return 0;
}
