/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loops with a branch each, on chance or on what a core can learn: prints picoseconds of a round. */
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 60000 };

static volatile unsigned char data[ROUNDS];
static volatile long hits, misses;

#define LOOP(name)                                                                                                     \
	static __attribute__((noinline)) void name(void)                                                               \
	{                                                                                                              \
		for (long i = 0; i < ROUNDS; i++)                                                                      \
			if (data[i])                                                                                   \
				hits = i;                                                                              \
			else                                                                                           \
				misses = i;                                                                            \
	}
LOOP(by_chance)
LOOP(always)
LOOP(in_turns)
LOOP(each_tenth)
LOOP(each_seventh)

/* What compilers compute both ways, and choose. */
static __attribute__((noinline)) long most(void)
{
	long most = 0;

	for (long i = 0; i < ROUNDS; i++) {
		long next = data[i] ? i ^ most : most - i;

		most = next;
	}
	return most;
}

static void choose(void) { hits = most(); }

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void show(const char *name, void (*loop)(void))
{
	long begun = now();

	loop();
	printf("%s %ld\n", name, (now() - begun) * 1000 / ROUNDS);
}

static void chance(void)
{
	unsigned long state = 88172645463325252ul;

	for (long i = 0; i < ROUNDS; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		data[i] = state >> 40 & 1;
	}
}

static void every(int round)
{
	for (long i = 0; i < ROUNDS; i++)
		data[i] = i % round == 0;
}

int main(void)
{
	chance();
	show("by_chance", by_chance);
	show("choose", choose);
	every(1);
	show("always", always);
	every(2);
	show("in_turns", in_turns);
	every(10);
	show("each_tenth", each_tenth);
	every(7);
	show("each_seventh", each_seventh);
	return 0;
}
