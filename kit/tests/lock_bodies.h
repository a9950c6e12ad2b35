/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lock_bodies.h: what every lock is held to, whatever its kind: natively by tests/locks.c, over many schedules in the lab by
 * tests/explore/locks.c. The includer defines WRONG(text): what becomes of a failure.
 */
#ifndef KIT_TESTS_LOCK_BODIES_H
#define KIT_TESTS_LOCK_BODIES_H

#include "lock_kinds.h"
#include <time.h>

/* The data that a lock guards. Plain where readers are kept out, so that ThreadSanitizer looks on. */
struct guarded {
	union any_lock lock CF_LINE_ALIGNED;
	const struct lock_kind *kind;
	long first CF_LINE_ALIGNED, second; /* equal outside of a writer */
	long turns;                         /* of writers; relaxed reads by those who wait */
	long rounds, section;               /* constant: operations of a thread; turns of an empty loop in a section */
	struct timespec until;              /* constant: when they end though there are rounds left; 0: never */
	uint32_t inside;                    /* readers, to see them together */
	uint32_t together;                  /* the most of them at a time */
	long written, most_passed;          /* totals of all threads */
};

static inline struct timespec soon(long nanoseconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += nanoseconds;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static inline void stay(const struct guarded *g)
{
	for (volatile long i = 0; i < g->section; i = i + 1)
		;
}

static inline void write_section(struct guarded *g)
{
	if (g->kind->optimistic) { /* readers look on */
		CF_SEQ_WRITE(g->first, g->first + 1);
		stay(g);
		CF_SEQ_WRITE(g->second, g->second + 1);
	} else {
		if (g->first != g->second)
			WRONG("two writers are inside");
		g->first++;
		stay(g);
		g->second++;
	}
	__atomic_store_n(&g->turns, g->turns + 1, __ATOMIC_RELAXED);
}

static inline void read_section(struct guarded *g)
{
	uint32_t now = __atomic_add_fetch(&g->inside, 1, __ATOMIC_RELAXED), most;
	long first = g->first;
	stay(g);
	if (first != g->second)
		WRONG("a writer is inside beside a reader");
	most = __atomic_load_n(&g->together, __ATOMIC_RELAXED);
	while (most < now && !__atomic_compare_exchange_n(&g->together, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_sub_fetch(&g->inside, 1, __ATOMIC_RELAXED);
}

static inline void read_optimistically(struct guarded *g)
{
	union held held;
	long first, second;
	do {
		g->kind->read(&g->lock, &held, NULL);
		first = CF_SEQ_READ(g->first);
		stay(g);
		second = CF_SEQ_READ(g->second);
	} while (g->kind->try_read(&g->lock, &held));
	if (first != second)
		WRONG("a reader took a writer's middle for true");
}

static inline void read_once(struct guarded *g, uint32_t dice)
{
	struct timespec deadline = soon(dice % 7 * 1000);
	union held held;
	int result;
	if (g->kind->optimistic) {
		read_optimistically(g);
		return;
	}
	if (dice % 5 == 0)
		result = g->kind->try_read(&g->lock, &held);
	else
		result = g->kind->read(&g->lock, &held, g->kind->timed && dice % 5 == 1 ? &deadline : NULL);
	if (result == 0 || (result > 0 && dice % 5 == 0)) { /* a token */
		read_section(g);
		g->kind->read_unlock(&g->lock, &held);
	} else if (result != -EBUSY && result != -ETIMEDOUT) {
		WRONG("an error that should not be");
	}
}

/* Returns how many sections it wrote. */
static inline long write_once(struct guarded *g, uint32_t dice)
{
	struct timespec deadline = soon(dice % 7 * 1000);
	union held held;
	int result;
	if (g->kind->try_lock && dice % 5 == 0)
		result = g->kind->try_lock(&g->lock, &held);
	else
		result = g->kind->lock(&g->lock, &held, g->kind->timed && dice % 5 == 1 ? &deadline : NULL);
	if (result) {
		if (result != -EBUSY && result != -ETIMEDOUT)
			WRONG("an error that should not be");
		return 0;
	}
	write_section(g);
	if (g->kind->downgrade && dice % 3 == 0) {
		g->kind->downgrade(&g->lock, &held);
		read_section(g);
		g->kind->read_unlock(&g->lock, &held);
	} else {
		g->kind->unlock(&g->lock, &held);
	}
	return 1;
}

static inline bool goes_on(const struct guarded *g, long round)
{
	return round < g->rounds && (round % 32 || !g->until.tv_sec || !cf_deadline_passed(&g->until));
}

/* A thread of the mix: every operation of the lock, in random order, `reads` in 16 of them reads. */
static inline void mix(struct guarded *g, uint64_t seed, uint32_t reads)
{
	long written = 0;
	for (long i = 0; goes_on(g, i); i++) {
		uint32_t dice;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		dice = (uint32_t)(seed >> 33);
		if (g->kind->read && dice % 16 < reads)
			read_once(g, dice >> 4);
		else
			written += write_once(g, dice >> 4);
	}
	__atomic_fetch_add(&g->written, written, __ATOMIC_RELAXED);
}

/* A thread that wants the lock again and again, and counts who is served between its call and its turn. */
static inline void queue_up(struct guarded *g)
{
	long most = 0, before, i = 0;
	for (; goes_on(g, i); i++) {
		union held held;
		long asked = __atomic_load_n(&g->turns, __ATOMIC_RELAXED), passed;
		g->kind->lock(&g->lock, &held, NULL);
		passed = g->turns - asked;
		/* In the second half: a thread's first wait may have to make its node, and is long. */
		most = i > g->rounds / 2 && passed > most ? passed : most;
		write_section(g);
		g->kind->unlock(&g->lock, &held);
	}
	before = __atomic_load_n(&g->most_passed, __ATOMIC_RELAXED);
	while (before < most && !__atomic_compare_exchange_n(&g->most_passed, &before, most, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&g->written, i, __ATOMIC_RELAXED);
}

/* What a thread does at its turn of a relay. */
enum step { STEP_WRITE, STEP_TRY, STEP_READ, STEP_TRY_READ, STEP_DOWNGRADE, STEPS };

static inline bool has_step(const struct lock_kind *kind, int step)
{
	const bool has[STEPS] = { true, kind->try_lock, kind->read && !kind->optimistic, kind->try_read && !kind->optimistic,
				  kind->downgrade };
	return has[step];
}

static inline void take_step(struct guarded *g, int step)
{
	union held held;
	bool reads = step == STEP_READ || step == STEP_TRY_READ;
	int result = step == STEP_TRY ? g->kind->try_lock(&g->lock, &held) : step == STEP_READ ? g->kind->read(&g->lock, &held, NULL) :
		step == STEP_TRY_READ ? g->kind->try_read(&g->lock, &held) : g->kind->lock(&g->lock, &held, NULL);
	if (result < 0)
		WRONG("a free lock is refused");
	if (!reads)
		g->first = g->second = g->first + 1;
	if (step == STEP_DOWNGRADE)
		g->kind->downgrade(&g->lock, &held);
	if (g->first != g->second)
		WRONG("what the last holder did is not seen");
	if (reads || step == STEP_DOWNGRADE)
		g->kind->read_unlock(&g->lock, &held);
	else
		g->kind->unlock(&g->lock, &held);
}

/* One of two threads that use the lock in turn, in every way after every other. Nothing but the lock orders them: it is
 * ThreadSanitizer that looks whether it does. */
static inline void relay(struct guarded *g, int id)
{
	for (int round = id; round < 2 * STEPS * STEPS; round += 2) {
		int step = id ? round / 2 % STEPS : round / 2 / STEPS;
		while (__atomic_load_n(&g->turns, __ATOMIC_RELAXED) != round)
			sched_yield();
		if (has_step(g->kind, step))
			take_step(g, step);
		__atomic_store_n(&g->turns, round + 1, __ATOMIC_RELAXED);
	}
}

static inline int guarded_begin(struct guarded *g, const struct lock_kind *kind, long rounds, long section)
{
	memset(g, 0, sizeof *g);
	g->kind = kind;
	g->rounds = rounds;
	g->section = section;
	return kind->init(&g->lock);
}

/* All was counted, and the lock is free again. */
static inline void guarded_end(struct guarded *g)
{
	union held held;
	if (g->first != g->written || g->second != g->written || g->turns != g->written)
		WRONG("a section is missing");
	if (g->kind->try_lock) {
		if (g->kind->try_lock(&g->lock, &held))
			WRONG("the lock is not free at the end");
		else
			g->kind->unlock(&g->lock, &held);
	}
	if (g->kind->try_read && !g->kind->optimistic) {
		if (g->kind->try_read(&g->lock, &held) < 0)
			WRONG("the lock is not free for a reader at the end");
		else
			g->kind->read_unlock(&g->lock, &held);
	}
	if (g->kind->destroy)
		g->kind->destroy(&g->lock);
}

#endif
