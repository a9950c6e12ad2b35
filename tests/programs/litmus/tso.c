// SPDX-License-Identifier: MIT OR Apache-2.0
// Litmus tests of x86-TSO. Kinds and sizes of accesses are drawn anew for each round; x and y lie on lines of their own, on one
// line, or y on a line that no other thread has touched. Outcomes that x86-TSO forbids must not be seen; the relaxed ones that
// it allows must be, or no store ever waited, but not with fences or locked stores.
// tso [ROUNDS [some]]; some: one schedule alone need not show each outcome that is allowed.
// Sewell, Sarkar, Owens, Zappa Nardelli, Myreen: x86-TSO, CACM 53(7), 2010.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "team.h"
#include "words.h"
#include "parts.h"

enum { ROUNDS = 200, TEAMS = 3, ACCESSES = 8, PLACES = 3, FRESH = 4096 };

/* Two of two threads, and one of all. */
static struct team teams[TEAMS];
static _Alignas(128) whole fresh[TEAMS][FRESH][LINES];

static const struct test {
	const char *name;
	void (*run)(struct team *, int me);
	int threads;
	/* In all variants. */
	int (*forbidden)(const struct team *);
	/* Allowed without fences and locked stores. */
	int (*relaxed)(const struct team *);
} tests[] = {
	{ "SB", store_buffering, 2, NULL, zeroes },
	{ "MP", message_passing, 2, flag_without_data, NULL },
	{ "seqcount", sequence_count, 2, torn, NULL },
	{ "LB", load_buffering, 2, ones, NULL },
	{ "2+2W", two_plus_two_writes, 2, crossed, NULL },
	{ "R", store_then_load, 2, NULL, passed },
	{ "S", write_after_read, 2, overtaken, NULL },
	{ "IRIW", independent_reads, 4, opposite_orders, NULL },
	{ "CoRR", coherence, 2, backwards, NULL },
	{ "SB+rfi", forwarding, 2, own_unseen, zeroes },
	{ "SB-parts", parts_store_buffering, 2, own_part_unseen, only_own_parts },
	{ "MP-parts", parts_message_passing, 2, second_part_first, NULL },
	{ "LB-parts", parts_load_buffering, 2, parts_of_the_future, NULL },
	{ "2+2W-parts", parts_two_plus_two_writes, 2, parts_crossed, NULL },
	{ "IRIW-parts", parts_independent_reads, 4, opposite_parts, NULL },
	{ "CoRR-parts", parts_coherence, 2, in_parts, NULL },
	{ "forwarded part", parts_forwarding, 2, mixed_up, forwarded_part },
};
enum { TESTS = sizeof tests / sizeof *tests };
static const char *const variants[] = { "", "+mixed", "+fences", "+locked" };

static atomic_ulong relaxed[TESTS][VARIANTS];
static atomic_int failed;
static int rounds = ROUNDS;

/* Takes a number below `below` from random bits. */
static unsigned draw(whole *random, unsigned below)
{
	unsigned drawn = *random % below;
	*random /= below;
	return drawn;
}

static whole random_bits(struct team *t)
{
	whole random = t->random;
	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	t->random = random;
	return random * 0x2545f4914f6cdd1d >> 8;
}

static void prepare(struct team *t, unsigned variant)
{
	whole random = random_bits(t), more = random_bits(t);
	unsigned place = draw(&random, PLACES), mixed = variant == MIXED || (variant != ONE_SIZE && draw(&random, 2));
	t->variant = variant;
	t->is_fresh = place == 2;
	t->x = place == 1 ? t->near : t->far_x;
	t->y = place == 1 ? t->near + 1 : t->is_fresh ? fresh[t - teams][t->fresh_lines++ % FRESH] : t->far_y;
	t->x[0] = t->y[0] = t->y[1] = 0;
	t->at = mixed ? draw(&random, sizeof(whole)) : 0;
	t->width = mixed ? 1 << draw(&random, 3) : 4;
	t->span = 2 * t->width < 8 && draw(&random, 2) ? 4 * t->width : 2 * t->width;
	/* Of the kinds, only atomic stores wait for their lines. */
	t->kinds = draw(&random, 2) ? draw(&random, 1 << 2 * ACCESSES) : ATOMIC * 0x5555;
	t->sizes = mixed ? draw(&random, 1 << 2 * ACCESSES) : 0xaaaa;
	for (unsigned i = 0; i < t->threads; i++) {
		t->delays[i][0] = draw(&more, 4) ? draw(&more, 16) : draw(&more, 80);
		t->delays[i][1] = draw(&more, 8);
		t->seen[i][0] = t->seen[i][1] = t->seen[i][2] = 0;
	}
}

/* Some divisions, and some multiplications, each of which waits for the one before. */
static void delay(const unsigned char *delays)
{
	word value = 3;
	for (unsigned i = 0; i < delays[0]; i++)
		value = ~0u / value;
	for (unsigned i = 0; i < delays[1]; i++)
		value *= value;
	__asm__ volatile("" : : "r"(value));
}

/* All wait for each other, spinning: they leave within a transfer of each other. */
static void meet(struct team *t, unsigned *turn)
{
	*turn += t->threads;
	atomic_fetch_add(&t->arrived, 1);
	while ((int)(atomic_load(&t->arrived) - *turn) < 0)
		__builtin_ia32_pause();
}

/* Where the lines are before the test: the first thread has them alone, all share them, or another has written them.
   A fresh line has been touched by the first thread only. */
static void warm(struct team *t, int me, int round)
{
	volatile word *x = (word *)(t->x + 4), *y = (word *)(t->y + 4);
	if (t->is_fresh) {
		if (me > 0)
			(void)*x;
		return;
	}
	switch (round % 3) {
	case 0:
		for (int i = 0; me == 0 && i < 40; i++)
			*(round & 1 ? x : y) = i;
		break;
	case 1:
		(void)(*x + *y);
		break;
	default:
		if (me == 1)
			*x = round;
		if (me == 1 && round % 2)
			*y = round;
	}
}

static void check(struct team *t, unsigned test, unsigned variant)
{
	int is_relaxed = tests[test].relaxed && tests[test].relaxed(t);
	int may_be_relaxed = variant == ONE_SIZE || variant == MIXED;
	if (is_relaxed)
		relaxed[test][variant]++;
	if ((is_relaxed && !may_be_relaxed) || (tests[test].forbidden && tests[test].forbidden(t))) {
		printf("%s%s: forbidden outcome at %s, byte %u, parts of %u; by two bits from access 0 on: kinds %04x, sizes %04x\n",
		       tests[test].name, variants[variant], t->x == t->near ? "one line" : "two lines", t->at, t->width,
		       t->kinds, t->sizes);
		failed = 1;
	}
}

static void *thread(void *number)
{
	unsigned turns[TEAMS] = { 0 };
	for (unsigned test = 0; test < TESTS; test++) {
		int threads = tests[test].threads, me = (long)number % threads;
		int team = threads == 2 ? (long)number / 2 : 2;
		struct team *t = &teams[team];
		/* An outcome that must be seen needs some luck. */
		int of_each = tests[test].relaxed ? 2 * rounds : rounds;
		for (int round = 0; round < VARIANTS * of_each; round++) {
			if (me == 0)
				prepare(t, round / of_each);
			meet(t, &turns[team]);
			warm(t, me, round % 3);
			meet(t, &turns[team]);
			delay(t->delays[me]);
			tests[test].run(t, me);
			meet(t, &turns[team]);
			if (me == 0)
				check(t, test, round / of_each);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int may_be_missing = argc > 2;
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (int i = 0; i < TEAMS; i++) {
		teams[i].threads = i < 2 ? 2 : THREADS;
		teams[i].random = 88172645463325252 + i;
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int test = 0; test < TESTS; test++)
		for (int variant = ONE_SIZE; variant <= MIXED; variant++)
			if (tests[test].relaxed && !relaxed[test][variant] && !may_be_missing) {
				printf("%s%s: the allowed outcome was not seen\n", tests[test].name, variants[variant]);
				failed = 1;
			}
	return failed || puts("within x86-TSO") < 0;
}
