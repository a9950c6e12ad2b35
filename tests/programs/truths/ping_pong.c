/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread 0 and thread PARTNER pass a token to and fro, the others stay away: ping_pong PARTNER HOPS */
#include "team.h"

static _Alignas(64) atomic_int token;
static int partner, hops;

static void work(int thread)
{
	int mine = thread == partner;

	if (thread != 0 && thread != partner)
		return;
	for (int hop = 0; hop < hops; hop++) {
		while ((atomic_load_explicit(&token, memory_order_acquire) & 1) != mine)
			;
		atomic_store_explicit(&token, !mine, memory_order_release);
		COREFOLD_PROGRESS("hop");
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	partner = atoi(argv[1]);
	hops = atoi(argv[2]);
	team_run(partner + 1, work);
	return 0;
}
