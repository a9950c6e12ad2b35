// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread for each CPU does random operations on one counter, for `corefold explore`: sums exact, nothing sold twice,
// no refusal that was wrong.
//   counters KIND OPERATIONS [atomics]
// OPERATIONS of all threads; atomics: without restartable sequences. By the seed's randomness there is one of three:
//   enough for all at any time: every refusal is wrong;
//   too little: the last one must still be sold, and not two;
//   about as much as lets per-CPU counters take in their slots, and one thread that takes nearly all of it at once.
// With few CPUs the third begins where quotas are given (guard + 2 x batch x CPUs) and ends at the limit.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_counter.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { MOST_HELD = 16, MOST_TAKEN = 8 };
#define LIMIT INT64_C(100)

static struct cf_counter counter;
static int64_t start, sold;
static bool plenty, brink;
static long operations;
static uint64_t seed;

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "counters: %s\n", what);
	exit(1);
}

static int64_t take(int64_t amount)
{
	int result = cf_counter_limited_add(&counter, LIMIT, -amount);
	check(result == 0 || result == -ENOSPC, "an error that should not be");
	check(result == 0 || !plenty, "a refusal with enough left");
	if (result)
		return 0;
	// Counted after it was taken and before it is given back: never more than is really sold.
	check(__atomic_add_fetch(&sold, amount, __ATOMIC_RELAXED) <= start - LIMIT, "sold twice");
	return amount;
}

static void give(int64_t amount)
{
	__atomic_sub_fetch(&sold, amount, __ATOMIC_RELAXED);
	check(cf_counter_add(&counter, amount) == 0, "an add is refused");
}

// Nearly all at once, and all back: beside those who take singly.
static int64_t giant(uint64_t *random, int64_t held)
{
	if (held) {
		give(held);
		return 0;
	}
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return take(start - LIMIT - 1 - (int64_t)(*random >> 40) % 8);
}

static void *thread(void *number)
{
	uint64_t random = seed ^ (uint64_t)(uintptr_t)number * 0x9e3779b97f4a7c15u;
	int64_t held = 0;
	for (long i = 0; i < operations; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		int64_t amount = brink ? 1 : 1 + (int64_t)(random >> 40) % MOST_TAKEN;
		if (brink && number == NULL) {
			held = giant(&random, held);
			continue;
		}
		switch (random >> 60) {
		case 0:
			// Of changes on several CPUs a sum may see the later alone, but never more than all of them.
			check(cf_counter_sum(&counter) <= start + (brink ? start : 0) + MOST_HELD * (int64_t)sysconf(_SC_NPROCESSORS_ONLN),
			      "a sum");
			break;
		case 1:
			cf_counter_compare(&counter, LIMIT);
			break;
		default:
			if (held == 0 || (held + amount <= MOST_HELD && (random >> 59 & 1))) {
				held += take(amount);
			} else {
				int64_t back = amount < held ? amount : held;
				give(back);
				held -= back;
			}
		}
	}
	return (void *)(intptr_t)held;
}

static enum cf_counter_kind kind_of(const char *name)
{
	int kind = 0;
	while (kind < CF_COUNTER_KINDS && strcmp(name, cf_counter_kind_name((enum cf_counter_kind)kind)))
		kind++;
	return (enum cf_counter_kind)kind;
}

int main(int argc, char **argv)
{
	// Small, so that folds, refills and switching happen within a few operations.
	const struct cf_counter_options options = { .batch = 4, .cap_max = 8, .percpu_limit = 4, .many_cpus = 2 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[cpus];
	int64_t held = 0, left;
	if (argc < 3 || atol(argv[2]) <= 0)
		return fprintf(stderr, "usage: counters KIND OPERATIONS [atomics]\n"), 2;
	if (argc > 3 && cf_cpu_use_atomics())
		return 2;
	operations = (atol(argv[2]) + cpus - 1) / cpus;
	check(getrandom(&seed, sizeof seed, 0) == sizeof seed, "no randomness");
	plenty = seed % 3 == 0;
	brink = seed % 3 == 1;
	start = LIMIT + (plenty ? MOST_HELD * cpus : 1 + (int64_t)(seed >> 8) % (4 * cpus));
	if (brink)
		start += 2 * options.batch * cpus;
	check(cf_counter_init(&counter, kind_of(argv[1]), start, &options) == 0, "no such counter");
	for (long i = 0; i < cpus; i++)
		check(pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i) == 0, "no thread");
	for (long i = 0; i < cpus; i++) {
		void *result;
		pthread_join(threads[i], &result);
		held += (intptr_t)result;
	}
	left = start - held - LIMIT;
	check(cf_counter_sum(&counter) == start - held, "the sum is not exact");
	check(cf_counter_compare(&counter, start - held) == 0, "compare is not exact");
	check(left == 0 || cf_counter_limited_add(&counter, LIMIT, -left) == 0, "the last one is not sold");
	check(cf_counter_limited_add(&counter, LIMIT, -1) == -ENOSPC, "one more than there is, is sold");
	return 0;
}
