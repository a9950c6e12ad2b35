/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Each thread follows pointers through 16 KiB of its own, in an order that no prefetcher guesses.
#include "../workload.h"

enum { LINES = 256 };
static struct link { _Alignas(64) struct link *next; } link[MOST_THREADS][LINES];
static struct link *volatile end[MOST_THREADS][8];

static void prepare(int threads)
{
	for (int t = 0; t < threads; t++) {
		unsigned long x = 88172645463325252ul;
		int order[LINES];

		for (int i = 0; i < LINES; i++)
			order[i] = i;
		for (int i = LINES - 1; i > 0; i--) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			int j = x % (i + 1), swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		for (int i = 0; i < LINES; i++)
			link[t][order[i]].next = &link[t][order[(i + 1) % LINES]];
	}
}

static void work(int thread, long operations)
{
	struct link *at = &link[thread][0];

	while (operations--)
		at = at->next;
	end[thread][0] = at;
}
