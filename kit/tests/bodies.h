/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * bodies.h: what must hold for every counter, written once. A counter is a set of functions on a pointer.
 */
#ifndef KIT_TESTS_BODIES_H
#define KIT_TESTS_BODIES_H

#include "harness.h"

struct subject {
	const char *name;
	int (*add)(void *counter, int64_t amount);
	int (*limited_add)(void *counter, int64_t limit, int64_t amount);
	int64_t (*sum)(void *counter);
	int (*compare)(void *counter, int64_t rhs);
};

struct body {
	const struct subject *is;
	void *counter;
	int64_t added[CREW_MAX]; /* what each thread added, all told */
	int64_t floor;
	int64_t capacity;
	int64_t in_use; /* of the capacity: never more than was taken */
	long rounds;
	long refused;
};

/* Random amounts of both signs, with sums and comparisons in between. */
static void body_add(int id, void *shared)
{
	struct body *b = shared;
	uint64_t random = (uint64_t)id + 1;
	int64_t added = 0;
	for (long i = 0; i < b->rounds; i++) {
		uint32_t what = random_below(&random, 100);
		int64_t amount = (int64_t)random_below(&random, what < 95 ? 5 : 3000) - (what < 95 ? 2 : 1500);
		CHECK_EQUAL(b->is->add(b->counter, amount), 0);
		added += amount;
		if (what == 50)
			(void)b->is->sum(b->counter);
		if (what == 51)
			(void)b->is->compare(b->counter, (int64_t)random_below(&random, 2000) - 1000);
	}
	b->added[id] = added;
}

static inline void sums_are_exact(const struct subject *is, void *counter, int64_t start, int threads, bool moving)
{
	struct body b = { .is = is, .counter = counter, .rounds = scaled(20000) };
	crew_run(threads, moving, body_add, &b);
	for (int i = 0; i < threads; i++)
		start += b.added[i];
	CHECK_EQUAL(is->sum(counter), start);
	CHECK_EQUAL(is->compare(counter, start), 0);
	CHECK_EQUAL(is->compare(counter, start - 1), 1);
	CHECK_EQUAL(is->compare(counter, start + 1), -1);
}

static void come_and_go(int id, void *shared)
{
	struct body *b = shared;
	int64_t added = 0;
	for (int generation = 0; generation < 5; generation++) {
		struct body child = { .is = b->is, .counter = b->counter, .rounds = b->rounds / 10 };
		crew_run(2, false, body_add, &child);
		added += child.added[0] + child.added[1];
	}
	b->added[id] = added;
}

static inline void threads_come_and_go(const struct subject *is, void *counter, int64_t start)
{
	struct body b = { .is = is, .counter = counter, .rounds = scaled(10000) };
	crew_run(4, true, come_and_go, &b);
	for (int i = 0; i < 4; i++)
		start += b.added[i];
	CHECK_EQUAL(is->sum(counter), start);
}

/* Takers of 1 to 4, each holding a few: together they want more than there is. */
static void take_and_return(int id, void *shared)
{
	struct body *b = shared;
	uint64_t random = (uint64_t)id + 77;
	int64_t held = 0;
	long refused = 0;
	for (long i = 0; i < b->rounds; i++) {
		int64_t amount = 1 + random_below(&random, 4);
		if (random_below(&random, 2) && held >= amount) {
			__atomic_fetch_sub(&b->in_use, amount, __ATOMIC_SEQ_CST); /* before it is free */
			CHECK_EQUAL(b->is->add(b->counter, amount), 0);
			held -= amount;
		} else if (b->is->limited_add(b->counter, b->floor, -amount) == 0) {
			int64_t used = __atomic_add_fetch(&b->in_use, amount, __ATOMIC_SEQ_CST); /* once it is ours */
			CHECK(used <= b->capacity);
			held += amount;
		} else {
			refused++;
			if (refused % 4 == 0 && held) { /* make room, so that the limit is met again and again */
				__atomic_fetch_sub(&b->in_use, held, __ATOMIC_SEQ_CST);
				CHECK_EQUAL(b->is->add(b->counter, held), 0);
				held = 0;
			}
		}
	}
	b->added[id] = -held;
	__atomic_fetch_add(&b->refused, refused, __ATOMIC_RELAXED);
}

/* The counter must hold floor + capacity. Ends with it full again. */
static inline void no_oversell(const struct subject *is, void *counter, int64_t floor, int64_t capacity, int threads)
{
	struct body b = { .is = is, .counter = counter, .floor = floor, .capacity = capacity, .rounds = scaled(4000) };
	int64_t value = floor + capacity;
	crew_run(threads, true, take_and_return, &b);
	for (int i = 0; i < threads; i++)
		value += b.added[i];
	CHECK_EQUAL(is->sum(counter), value);
	CHECK(value >= floor);
	CHECK(b.refused > 0 || CF_BUILT_SANITISED);
	CHECK_EQUAL(is->add(counter, floor + capacity - value), 0);
}

/* One for everybody, and a giant that never fits: a refusal of one of the small is a false one. */
static void take_one(int id, void *shared)
{
	struct body *b = shared;
	for (long i = 0; i < b->rounds; i++) {
		if (id == 0) {
			CHECK_EQUAL(b->is->limited_add(b->counter, b->floor, -b->capacity - 1), -ENOSPC);
			continue;
		}
		CHECK_EQUAL(b->is->limited_add(b->counter, b->floor, -1), 0);
		CHECK_EQUAL(b->is->add(b->counter, 1), 0);
	}
}

/* The counter must hold floor + threads - 1. */
static inline void no_false_refusal(const struct subject *is, void *counter, int64_t floor, int threads)
{
	struct body b = { .is = is, .counter = counter, .floor = floor, .capacity = threads - 1, .rounds = scaled(2000) };
	crew_run(threads, true, take_one, &b);
	CHECK_EQUAL(is->sum(counter), floor + threads - 1);
}

/* Everything out, to the last one, by all; then back. */
static void drain(int id, void *shared)
{
	struct body *b = shared;
	int64_t taken = 0;
	while (b->is->limited_add(b->counter, b->floor, -1) == 0)
		taken++;
	b->added[id] = taken;
}

static void refill(int id, void *shared)
{
	struct body *b = shared;
	for (int64_t i = 0; i < b->added[id]; i++)
		CHECK_EQUAL(b->is->add(b->counter, 1), 0);
}

static inline void drains_to_the_last(const struct subject *is, void *counter, int64_t floor, int64_t capacity, int times)
{
	struct body b = { .is = is, .counter = counter, .floor = floor, .capacity = capacity };
	for (int round = 0; round < times; round++) {
		int64_t taken = 0;
		crew_run(4, round & 1, drain, &b);
		for (int i = 0; i < 4; i++)
			taken += b.added[i];
		CHECK_EQUAL(taken, capacity);
		CHECK_EQUAL(is->sum(counter), floor);
		crew_run(4, false, refill, &b);
		CHECK_EQUAL(is->sum(counter), floor + capacity);
	}
}

#endif
