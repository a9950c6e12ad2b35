// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which candidates commute:
 *   candidates [EVERY] > FILE      of each pair every so-maniest candidate: all
 * A line for each pair: its numbers, and a word for each candidate: what the two calls return, or "-".
 */
#include "commute.h"

#include <inttypes.h>
#include <stdlib.h>

struct share {
	long every, seen;
};

static void decide(const struct plan *p, void *argument)
{
	struct share *s = argument;
	int64_t results[2];
	if (s->seen++ % s->every == 0 && commutes(p, results))
		printf(" %" PRId64 ":%" PRId64, results[0], results[1]);
	else
		printf(" -");
}

int main(int argc, char **argv)
{
	struct share share = { .every = argc > 1 ? atol(argv[1]) : 1 };
	if (share.every < 1)
		return 2;
	for (int a = 0; a < ROWS; a++)
		for (int b = a; b < ROWS; b++) {
			share.seen = 0;
			printf("%d %d", a, b);
			plan_pair((enum row)a, (enum row)b, decide, &share);
			printf("\n");
		}
	return 0;
}
