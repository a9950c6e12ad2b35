/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loops whose time hangs on one fact of the core or of its caches each: prints picoseconds of a round. */
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 20000 };

static volatile long word;
static volatile long results[16];

/* Each addition loads what the last one stored, by the word's own address. */
static __attribute__((noinline)) void forward(long rounds)
{
	for (long i = 0; i < rounds; i++)
		word++;
}

/* The same by an address in a register. */
static __attribute__((noinline)) void renamed(long rounds)
{
	volatile long *volatile somewhere = &word, *at = somewhere;

	for (long i = 0; i < rounds; i++)
		(*at)++;
}

static __attribute__((noipa)) long same(long value) { return value; }

/* A call, a return and the branch back. */
static __attribute__((noinline)) void taken_branch(long rounds)
{
	for (long i = 0; i < rounds; i++)
		same(i);
}

/* A long chain in each round, and none from one round to the next. */
static __attribute__((noinline)) void scheduler(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		long value = i;

		value *= value, value *= value, value *= value, value *= value, value *= value, value *= value;
		results[i & 15] = value;
	}
}

static __attribute__((noinline)) void fenced(long value)
{
	asm volatile("mfence" ::: "memory");
	word = value;
}

/* The function, which is called by a pointer, waits for the quotient before it needs it. What is divided by comes from one
   that others have called first. */
static __attribute__((noinline)) void fence_serializes(long rounds)
{
	void (*volatile function)(long) = fenced;

	for (long i = 0; i < rounds; i++)
		function(rounds / same(i + 1));
}

/* For one caller it waits, and not for another. */
static __attribute__((noinline)) void fence_alone(long rounds)
{
	void (*volatile function)(long) = fenced;

	for (long i = 0; i < rounds; i++)
		function(rounds);
}

/* Four times what any first level holds, and half of what a second does. */
enum { LINES = 2048 };
static struct { _Alignas(64) volatile long word[8]; } lines[LINES];

static __attribute__((noinline)) void l2_line(long rounds)
{
	for (long i = 0; i < rounds; i++)
		(void)lines[i % LINES].word[0];
}

/* Each sends one back, too. */
static __attribute__((noinline)) void l2_line_stored(long rounds)
{
	for (long i = 0; i < rounds; i++)
		lines[i % LINES].word[0] = i;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void show(const char *name, void (*loop)(long))
{
	long begun = now();

	loop(ROUNDS);
	printf("%s %ld\n", name, (now() - begun) * 1000 / ROUNDS);
}

int main(void)
{
	show("core.forward", forward);
	show("core.renamed", renamed);
	show("core.taken_branch", taken_branch);
	show("core.scheduler", scheduler);
	show("fence_alone", fence_alone);
	same(0);
	show("core.fence_serializes", fence_serializes);
	l2_line_stored(LINES);
	show("cache.l2_line_stored", l2_line_stored);
	l2_line(LINES);
	show("cache.l2_line", l2_line);
	return 0;
}
