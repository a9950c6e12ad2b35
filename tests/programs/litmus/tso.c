// SPDX-License-Identifier: MIT OR Apache-2.0
// Litmus tests of x86-TSO. Each access is plain, volatile, atomic or inline assembly, drawn anew for each round; x and y
// lie on lines of their own, on one line, or on a line that no other thread has touched. Outcomes that x86-TSO
// forbids must not be seen; the relaxed outcomes of SB and R must be, or no store ever waited.
// Sewell, Sarkar, Owens, Zappa Nardelli, Myreen: x86-TSO, CACM 53(7), 2010.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 600, THREADS = 4, KINDS = 4, PLACES = 3 };
enum kind { PLAIN, VOLATILE, ATOMIC, ASSEMBLY };

static _Alignas(128) unsigned far_x[64];
static _Alignas(128) unsigned far_y[64];
static _Alignas(128) unsigned near[64];
static _Alignas(128) unsigned fresh[ROUNDS][32];
static int is_fresh;
static unsigned *x, *y;
static unsigned kinds[8];
static unsigned delays[THREADS];
static unsigned seen[THREADS][2];
static _Alignas(128) atomic_uint arrived;

__attribute__((noinline)) static void put(unsigned *word, unsigned value, unsigned access)
{
	switch (kinds[access]) {
	case PLAIN:
		*word = value;
		break;
	case VOLATILE:
		*(volatile unsigned *)word = value;
		break;
	case ATOMIC:
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
		break;
	default:
		__asm__ volatile("movl %1, %0" : "=m"(*word) : "r"(value) : "memory");
	}
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static unsigned get(unsigned *word, unsigned access)
{
	unsigned value;
	__asm__ volatile("" ::: "memory");
	switch (kinds[access]) {
	case PLAIN:
		value = *word;
		break;
	case VOLATILE:
		value = *(volatile unsigned *)word;
		break;
	case ATOMIC:
		value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		break;
	default:
		__asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*word) : "memory");
	}
	__asm__ volatile("" ::: "memory");
	return value;
}

static void locked(unsigned *word, unsigned value)
{
	__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

/* What thread `me` does in each test; accesses are numbered across threads. */
static void store_buffering(int me)
{
	put(me ? y : x, 1, 2 * me);
	seen[me][0] = get(me ? x : y, 2 * me + 1);
}

static void store_buffering_fenced(int me)
{
	put(me ? y : x, 1, 2 * me);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	seen[me][0] = get(me ? x : y, 2 * me + 1);
}

static void store_buffering_locked(int me)
{
	locked(me ? y : x, 1);
	seen[me][0] = get(me ? x : y, 2 * me + 1);
}

static void message_passing(int me)
{
	if (me == 0) {
		put(x, 1, 0);
		put(y, 1, 1);
	} else {
		seen[1][0] = get(y, 2);
		seen[1][1] = get(x, 3);
	}
}

/* The lock word and then the data of a sequence count: a reader that sees one value of it saw no write in between. */
static void sequence_count(int me)
{
	if (me == 0) {
		put(x, 1, 0);
		put(y, 1, 1);
		put(y + 2, 1, 2);
		put(x, 2, 3);
	} else {
		unsigned before = get(x, 4);
		unsigned a = get(y, 5), b = get(y + 2, 6);
		unsigned after = get(x, 7);
		seen[1][0] = before == after && before % 2 == 0 && a != b;
	}
}

static void load_buffering(int me)
{
	seen[me][0] = get(me ? y : x, 2 * me);
	put(me ? x : y, 1, 2 * me + 1);
}

static void two_plus_two_writes(int me)
{
	put(me ? y : x, 1, 2 * me);
	put(me ? x : y, 2, 2 * me + 1);
}

static void store_then_load(int me)
{
	if (me == 0) {
		put(x, 1, 0);
		put(y, 1, 1);
	} else {
		put(y, 2, 2);
		seen[1][0] = get(x, 3);
	}
}

static void write_after_read(int me)
{
	if (me == 0) {
		put(x, 2, 0);
		put(y, 1, 1);
	} else {
		seen[1][0] = get(y, 2);
		put(x, 1, 3);
	}
}

static void independent_reads(int me)
{
	if (me < 2) {
		put(me ? y : x, 1, me);
	} else {
		seen[me][0] = get(me == 2 ? x : y, 2 * me - 2);
		seen[me][1] = get(me == 2 ? y : x, 2 * me - 1);
	}
}

static void coherence(int me)
{
	if (me == 0) {
		put(x, 1, 0);
		put(x, 2, 1);
	} else {
		seen[1][0] = get(x, 2);
		seen[1][1] = get(x, 3);
	}
}

/* A thread sees what it has stored itself, and others all of it or nothing. */
static void forwarding(int me)
{
	put(me ? y : x, 1, 2 * me);
	seen[me][1] = get(me ? y : x, 2 * me + 1);
	seen[me][0] = get(me ? x : y, 2 * me + 1);
}

static int both(unsigned a, unsigned b)
{
	return seen[0][0] == a && seen[1][0] == b;
}

static int zeroes(void)
{
	return both(0, 0);
}

static int ones(void)
{
	return both(1, 1);
}

static int flag_without_data(void)
{
	return seen[1][0] == 1 && seen[1][1] == 0;
}

static int torn(void)
{
	return seen[1][0];
}

static int crossed(void)
{
	return *x == 1 && *y == 1;
}

static int passed(void)
{
	return *y == 2 && seen[1][0] == 0;
}

static int overtaken(void)
{
	return seen[1][0] == 1 && *x == 2;
}

static int opposite_orders(void)
{
	return seen[2][0] == 1 && seen[2][1] == 0 && seen[3][0] == 1 && seen[3][1] == 0;
}

static int backwards(void)
{
	return seen[1][0] > seen[1][1];
}

static int own_unseen(void)
{
	return seen[0][1] == 0 || seen[1][1] == 0;
}

static const struct test {
	const char *name;
	void (*run)(int me);
	int (*outcome)(void);
	int threads;
	int allowed;
} tests[] = {
	{ "SB", store_buffering, zeroes, 2, 1 },
	{ "SB+mfences", store_buffering_fenced, zeroes, 2, 0 },
	{ "SB+locked", store_buffering_locked, zeroes, 2, 0 },
	{ "MP", message_passing, flag_without_data, 2, 0 },
	{ "seqcount", sequence_count, torn, 2, 0 },
	{ "LB", load_buffering, ones, 2, 0 },
	{ "2+2W", two_plus_two_writes, crossed, 2, 0 },
	{ "R", store_then_load, passed, 2, 1 },
	{ "S", write_after_read, overtaken, 2, 0 },
	{ "IRIW", independent_reads, opposite_orders, 4, 0 },
	{ "CoRR", coherence, backwards, 2, 0 },
	{ "SB+rfi", forwarding, own_unseen, 2, 0 },
};

static unsigned long random_state = 88172645463325252ul;

static unsigned draw(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 16) % below;
}

static void prepare(int round)
{
	unsigned place = draw(PLACES);
	is_fresh = place == 2;
	x = place == 1 ? near : far_x;
	y = place == 1 ? near + 1 : is_fresh ? fresh[round] : far_y;
	x[0] = y[0] = y[2] = 0;
	for (int i = 0; i < 8; i++)
		kinds[i] = draw(KINDS);
	for (int i = 0; i < THREADS; i++)
		delays[i] = draw(4) ? draw(150) : draw(1000);
	for (int i = 0; i < THREADS; i++)
		seen[i][0] = seen[i][1] = 0;
}

/* All wait for each other, spinning: they leave within a transfer of each other. */
static void meet(unsigned *turn)
{
	*turn += THREADS;
	atomic_fetch_add(&arrived, 1);
	while ((int)(atomic_load(&arrived) - *turn) < 0)
		__builtin_ia32_pause();
}

/* Where the lines are before the test: the first thread has them alone, all share them, or another has written them.
   A fresh line has been touched by the first thread only. */
static void warm(int me, int round)
{
	static volatile unsigned sum;
	if (is_fresh) {
		if (me > 0)
			sum += *(volatile unsigned *)x;
		return;
	}
	switch (round % 3) {
	case 0:
		for (int i = 0; me == 0 && i < 40; i++)
			((volatile unsigned *)(round & 1 ? x : y))[8] = i;
		break;
	case 1:
		sum += *(volatile unsigned *)x + *(volatile unsigned *)y;
		break;
	default:
		if (me == 1)
			((volatile unsigned *)x)[8] = round;
		if (me == 1 && round % 2)
			((volatile unsigned *)y)[8] = round;
	}
}

/* With any argument: one schedule alone need not show each outcome that is allowed. */
static int may_be_missing;

static void *thread(void *number)
{
	int me = (int)(long)number;
	unsigned turn = 0;
	for (unsigned t = 0; t < sizeof tests / sizeof *tests; t++) {
		unsigned long found = 0;
		for (int round = 0; round < ROUNDS; round++) {
			if (me == 0)
				prepare(round);
			meet(&turn);
			warm(me, round % 3);
			meet(&turn);
			for (volatile unsigned i = 0; i < delays[me]; i++)
				;
			if (me < tests[t].threads)
				tests[t].run(me);
			meet(&turn);
			if (me == 0 && tests[t].outcome()) {
				found++;
				if (!tests[t].allowed)
					printf("%s: forbidden outcome with accesses %u%u%u%u%u%u%u%u at %s\n", tests[t].name, kinds[0], kinds[1],
					       kinds[2], kinds[3], kinds[4], kinds[5], kinds[6], kinds[7], x == near ? "one line" : "two lines");
			}
			meet(&turn);
		}
		if (me == 0 && (tests[t].allowed ? !found && !may_be_missing : found > 0)) {
			printf("%s: %lu of %d rounds\n", tests[t].name, found, ROUNDS);
			exit(1);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	(void)argv;
	may_be_missing = argc > 1;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return puts("within x86-TSO"), 0;
}
