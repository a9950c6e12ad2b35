// SPDX-License-Identifier: MIT OR Apache-2.0
// A function that updates a word by compare-and-swap, called from a loop: prints the cycles of a call. With "before", main calls it
// once ahead of the loop. Where it fails, which it never does, it goes another path; with "arms", it takes two in turn.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { TURNS = 40000 };
static atomic_uint word = 1000;

static __attribute__((noinline)) void give_up(unsigned seen)
{
	fprintf(stderr, "%u\n", seen);
	exit(1);
}

static __attribute__((noinline)) void update(unsigned turn, int arms)
{
	unsigned seen = atomic_load_explicit(&word, memory_order_relaxed), next;

	do {
		if (!seen)
			give_up(seen);
		if (arms && turn % 2) {
			if (seen < 10)
				give_up(seen);
			next = seen - 1;
		} else {
			if (seen > 1000000)
				give_up(seen);
			next = seen + 1;
		}
	} while (!atomic_compare_exchange_strong(&word, &seen, next));
}

int main(int argc, char **argv)
{
	int before = argc > 1 && !strcmp(argv[1], "before"), arms = argc > 1 && !strcmp(argv[1], "arms");
	unsigned long begun = 0;

	if (before)
		update(0, arms);
	for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
		/* Warm by then. */
		if (turn == TURNS)
			begun = __rdtsc();
		update(turn, arms);
	}
	printf("%lu\n", (__rdtsc() - begun) / TURNS);
	return 0;
}
