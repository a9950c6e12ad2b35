/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bit-fields side by side, each thread's in a word of its own: bit_fields THREADS ROUNDS WAY. The same words by masks. */
#include "team.h"
#include <string.h>

struct status {
	union {
		struct {
			unsigned busy : 1, state : 3, ticks : 28;
		};
		volatile unsigned word;
		volatile unsigned char low;
	};
};

static _Alignas(64) struct status status[64];
static int rounds;
static int masks;

/* Stores stay as they are written. */
#define KEEP() __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) void by_fields(struct status *s)
{
	s->busy = 1;
	KEEP();
	s->state = 5;
	KEEP();
	s->busy = 0;
	KEEP();
}

static __attribute__((noinline)) void by_masks(struct status *s)
{
	s->low |= 1;
	s->low = (s->low & ~14) | 10;
	s->low &= ~1;
}

static void run(int thread)
{
	for (int i = 0; i < rounds; i++) {
		(masks ? by_masks : by_fields)(&status[thread]);
		/* Stores alone would wait in the store buffer for as long. */
		for (int k = 0; k < 100; k++)
			KEEP();
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	rounds = atoi(argv[2]);
	masks = !strcmp(argv[3], "masks");
	team_run(atoi(argv[1]), run);
	return 0;
}
