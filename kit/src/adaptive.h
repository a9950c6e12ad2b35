/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * adaptive.h: inside cf_adaptive_counter: the shared word, its lock bit, and what the counter's parts call each other.
 * Invariants 1 to 6 are those of cf_adaptive_counter.h. Functions that end in __ are called with the lock bit held.
 *   adaptive_slots.c    credit goes out and comes back
 *   adaptive_policy.c   when, and how much: a wrong choice costs time, never exactness
 *   adaptive_limited.c  adding within a limit
 *   adaptive_counter.c  the other operations
 */
#ifndef KIT_SRC_ADAPTIVE_H
#define KIT_SRC_ADAPTIVE_H

#include <corefold/cf_adaptive_counter.h>
#include <corefold/cf_lock.h>

#include "section.h"

#pragma GCC visibility push(hidden)

/* The shared word: count << SHIFT | LOCKED | LENT. */
enum { LENT = 1, LOCKED = 2, SHIFT = 2 };

#define NOWHERE INT64_MIN /* of guard and compared: none */

static inline int64_t count_of(uint64_t word)
{
	return (int64_t)word >> SHIFT;
}

static inline uint64_t in_word(int64_t amount)
{
	return (uint64_t)amount << SHIFT;
}

static inline uint64_t load_word(const struct cf_adaptive_counter *c)
{
	return __atomic_load_n(&c->word, __ATOMIC_ACQUIRE); /* acquire: after the adds that it contains */
}

/* Sequentially consistent: a lower count before the look at the watermark, in
 * cf_adaptive_check_watermark; its partner is raise_guard__. */
static inline uint64_t add_to_word(struct cf_adaptive_counter *c, uint64_t amount)
{
	return __atomic_add_fetch(&c->word, amount, __ATOMIC_SEQ_CST);
}

static inline bool swap_word(struct cf_adaptive_counter *c, uint64_t *expected, uint64_t desired)
{
	return __atomic_compare_exchange_n(&c->word, expected, desired, true, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

/* Every section of the lock is one more move: who reads the count's line without it sees that one has begun. */
static inline bool try_lock(struct cf_adaptive_counter *c)
{
	/* Acquire: after the last holder's release in unlock. Tests cannot tell, since the load in front acquires, too, unless
	 * another has held the lock between the two. */
	if (load_word(c) & LOCKED || __atomic_fetch_or(&c->word, LOCKED, __ATOMIC_ACQUIRE) & LOCKED)
		return false;
	/* Relaxed: what it announces, changes of `granted` and `max_total`, are release stores behind it (look_at_count). */
	__atomic_store_n(&c->moves, c->moves + 1, __ATOMIC_RELAXED);
	return true;
}

static inline void unlock_word(struct cf_adaptive_counter *c)
{
	__atomic_fetch_sub(&c->word, LOCKED, __ATOMIC_RELEASE); /* release: this section before the next one's try_lock */
}

/* Who waits for the bit stands in a queue: at most one looks at the word, which all need to get on. Every operation that
 * may get here has refused before, if its thread was inside (section.h). */
static inline void lock(struct cf_adaptive_counter *c, struct cf_lock_node *node)
{
	cf_section_enter();
	cf_lock_take(&c->queue, node);
	CF_LOCK_WAIT_UNTIL(try_lock(c));
}

static inline void unlock(struct cf_adaptive_counter *c, struct cf_lock_node *node)
{
	unlock_word(c);
	cf_lock_drop(&c->queue, node);
	cf_section_leave();
}

static inline int64_t guard(const struct cf_adaptive_counter *c)
{
	return __atomic_load_n(&c->guard, __ATOMIC_RELAXED); /* relaxed: invariant 6 says what an old one may do */
}

static inline void change_max_total__(struct cf_adaptive_counter *c, int64_t by)
{
	/* Release: this section's `moves` before it, so that a reader of the new total finds that a section began.
	 * x86 cannot tell, its stores stay in order; arm64 and RISC-V need it. */
	__atomic_store_n(&c->max_total, c->max_total + by, __ATOMIC_RELEASE);
}

static inline uint64_t holders__(const struct cf_adaptive_counter *c, uint32_t i)
{
	return c->holders[i];
}

static inline uint32_t holder_words(void)
{
	return (cf_slot_count() + 63) / 64;
}

static inline bool is_holder__(const struct cf_adaptive_counter *c, uint32_t cpu)
{
	return c->holders[cpu / 64] >> cpu % 64 & 1;
}

/* adaptive_slots.c */

/* Adds `amount` to the value, and gives `credit` to slots; unless the count would leave its range, or fall below the
 * guard: then false, and nothing was done. */
bool cf_adaptive_debit__(struct cf_adaptive_counter *c, int64_t credit, int64_t amount);
/* A closed slot gets half of `max` as credit: debited and counted before. */
void cf_adaptive_open__(struct cf_adaptive_counter *c, uint32_t cpu, int32_t max);
/* Invariant 4 for the holders: those for which `wanted` is true, or all (null). Returns how many, or -errno of the fence:
 * then the slots are open again, as they were. */
int cf_adaptive_call_back__(struct cf_adaptive_counter *c, const bool *wanted);
/* This CPU's slot is closed and its credit, with amount, goes to the count. 0, or -ERANGE: the amount was not added. */
int cf_adaptive_fold_own__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount);
/* An amount below 0 that the credit cannot serve: from the count, with what the credit lacks to be half its maximum.
 * False: too near a limit, nothing was done. */
bool cf_adaptive_refill__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount);
/* An amount above 0 that the maximum does not hold: to the count, with what the credit has above half its maximum. */
void cf_adaptive_flush__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount);
void cf_adaptive_grow__(struct cf_adaptive_counter *c, uint32_t cpu, int32_t max);
/* A change of the count by compare-and-swap. 0 or -ERANGE. */
int cf_adaptive_add_checked(struct cf_adaptive_counter *c, int64_t amount, uint64_t *before);

/* adaptive_counter.c */

/* The count has become that of `word`: if it is below the watermark while credit is out, no slot may serve a limited_add
 * that begins from here on. */
void cf_adaptive_check_watermark(struct cf_adaptive_counter *c, uint64_t word);

/* adaptive_policy.c */

/* The maximum that a CPU's credit may have now; 0: none. */
int32_t cf_adaptive_credit_max(const struct cf_adaptive_counter *c, int64_t count, int64_t compared);
void cf_adaptive_age_compared__(struct cf_adaptive_counter *c);
/* This CPU gets credit, and with `to_all` every CPU that met contention. */
void cf_adaptive_lend__(struct cf_adaptive_counter *c, bool to_all);
void cf_adaptive_raise_guard__(struct cf_adaptive_counter *c, int64_t limit);
void cf_adaptive_set_guard__(struct cf_adaptive_counter *c, int64_t guard);
/* After this CPU changed the word, or failed to; `before` is what it found there. limit: limited_add's, or NOWHERE. */
void cf_adaptive_changed(struct cf_adaptive_counter *c, uint32_t cpu, uint64_t before, uint64_t after, int64_t limit);
void cf_adaptive_collided(struct cf_adaptive_counter *c, uint32_t cpu, uint64_t word, int64_t limit);
/* A comparison with rhs had to sum. */
void cf_adaptive_summed(struct cf_adaptive_counter *c, int64_t sum, int64_t rhs);
int cf_adaptive_settle__(struct cf_adaptive_counter *c);
/* After a refill or a flush: time to look for idle CPUs? */
void cf_adaptive_refilled__(struct cf_adaptive_counter *c);

#pragma GCC visibility pop

#endif
