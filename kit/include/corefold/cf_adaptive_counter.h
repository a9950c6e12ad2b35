/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_adaptive_counter.h: a counter that switches by itself between one global word (exact) and per-CPU slots (fast).
 *
 * Choose it when CPUs change a value often and some of them compare it, or take from it, near a limit. When nobody
 * ever compares, cf_percpu_counter.h does the same with less code.
 *
 * How it works: the shared word holds the part of the value that is not lent to CPUs. A CPU that changes the counter often
 * borrows a *credit* into its own slot: a part of the value, between 0 and the slot's *maximum*, which it counts up and down
 * without accessing the word. The maximum is in the slot, beside the credit, on the line that the CPU owns anyway; 0 means
 * "use the shared word". So slow paths alone switch a CPU in or out, shrink credits near a limit and return to one global
 * count, and the fast path has one comparison, like a plain per-CPU counter's.
 *
 * Cost: add touches this CPU's slot; the shared line when the credit is used up or full, or its maximum is 0. compare
 * reads the shared line alone while the value is far from rhs, or nothing is lent. Memory: 192 bytes, and 68 for
 * each possible CPU. The value is in the caller's units.
 *
 *   operation                     may overlap    progress
 *   init, destroy                 nothing        as malloc
 *   add, sub, inc, dec            everything     fast path lock-free; refilling and flushing a credit block on a lock bit
 *   read, read_positive, bounds   everything     read is wait-free; bounds repeats while credit moves
 *   sum, sum_positive             everything     wait-free when nothing is lent; else reads each slot, waits for moves
 *   compare                       everything     wait-free while above or nothing is lent; else as sum, and at times
 *                                                calls all credit back
 *   limited_add                   everything     fast path lock-free; a refusal may call all credit back first
 *   settle                        everything     blocks; interrupts the CPUs that it folds
 *   set                           everything     blocks; calls all credit back
 * Calling back blocks, reads a line for each CPU that holds credit and interrupts the CPUs that run (membarrier). Where
 * the kernel refuses membarrier(2), credit cannot be called back: operations that need it fail with -EPERM, -ENOSYS or
 * -ENOMEM, and change nothing. add, sub, sum and compare do not need it.
 *
 * Invariants; the tests of the same names are in tests/adaptive_counter.c:
 *   1. value = count + the credits of all slots, whenever the lock bit is free.  ("sums are exact")
 *   2. A slot whose maximum is above 0 has 0 <= credit < maximum; so count <= value <= count + the sum of all
 *      maxima.  ("bounds hold")
 *   3. If the word's LENT bit is clear, every credit is 0, and one load of the word is the exact value.  The bit is
 *      set in the same instruction that takes the first credit out of the count, and cleared in the one that puts
 *      the last back.  ("compare is exact near its limit")
 *   4. Credit is called back in this order: lock, maximum 0, fence, take, count. Before the fence the owner may
 *      still be in mid-update, and nobody else changes its credit. So two sets are kept: CPUs that *may use* their
 *      slot (maximum above 0) and CPUs whose credit *may be non-zero* (the map of holders), which shrinks last.
 *      An owner that folds its own slot, in a restartable sequence on that CPU, needs no fence.  ("no update is
 *      lost")
 *   5. A slot's total is what its CPU has counted there since init, and its credit is the total above a base that moves
 *      under the lock bit. Moving credit between count and slots changes neither count + granted nor any total: so
 *      a sum is one load per slot, without the lock, and counts no moved credit twice.  ("bounds hold")
 *   6. While anything is lent, count >= guard, the highest lower limit that limited_add has succeeded with. An operation
 *      that would bring the count below it calls all credit back first or, if it may not be refused, before it returns.
 *      So a limited_add whose limit is not above the guard can take from its slot without reading the count. The
 *      guard is raised in three steps: set the watermark, check the count, set the guard. An operation that lowers the
 *      count checks the watermark afterwards: either it sees the new one, and waits for the lock, or the raising thread
 *      sees the lower count, and no limited_add ever reads that guard.  ("no oversell, no false refusal";
 *      tests/adaptive_windows.c)
 *
 * Guarantees:
 *   1. limited_add never takes the value past the limit, and refuses only if at some moment during the call it would
 *      have. A change toward the limit by add that overlaps the call counts as before or after it.
 *   2. sum and compare are exact at one moment during the call while nothing is lent, or when the bounds decide.
 *      Otherwise they count every add that returned before they began, none that began after they returned, and
 *      each concurrent one or not, as in Linux.  ("compare is exact near its limit")
 *   3. Counts stay within +-CF_VALUE_MAX: an operation that would leave this range returns -ERANGE and changes nothing
 *      (an add that is being refused is visible until it returns).  ("near the ends")
 *
 * Policy. A CPU borrows after 4 changes of the word with changes by other CPUs in between, and then all CPUs that met
 * contention get credit; or after 64 changes if it was alone. A slot's maximum is at most `credit_max`, and at most
 * the distance to the limit divided by the CPUs; where that is below 8 the counter stays global. A CPU whose credit is used
 * up or full computes a new maximum, so credits shrink on the way to a limit and grow on the way from it. When comparisons
 * repeatedly have to sum, all credit is called back, and maxima become smaller than the distance to the compared value, if
 * that is at least 16 for each CPU; if it is nearer, summing is cheapest, and maxima are large.
 * The compared value expires after 64 refills; each wrong expiry doubles that. Every 1,024th refill folds idle CPUs back.
 *
 * In a signal handler that interrupted one of the kit's slow paths in its own thread, an operation that would wait for that
 * thread returns -EDEADLK and changes nothing; sum and compare use the intermediate state. In a child of fork(2), locks
 * that other threads held stay held (cf_lock.h).  (tests/limits.c)
 *
 * Lifetime: zeroed memory is an uninitialised counter. The counter must have the alignment of its type (64 bytes, more than
 * plain malloc gives), or init returns -EINVAL. Destroy once, when nobody uses it.
 *
 * Five lines:
 *   struct cf_adaptive_counter blocks;
 *   if (cf_adaptive_counter_init(&blocks, 1 << 20, 0)) return -ENOMEM;
 *   if (cf_adaptive_counter_limited_add(&blocks, 0, -8)) return -ENOSPC;
 *   cf_adaptive_counter_add(&blocks, 8);
 *   cf_adaptive_counter_destroy(&blocks);
 *
 * Source: the requirement is from the thread of March 2016 on percpu_counter_set_limit; the design is ours. Borrowing is
 * escrow: P. O'Neil, "The escrow transactional method" (1986).
 */
#ifndef COREFOLD_CF_ADAPTIVE_COUNTER_H
#define COREFOLD_CF_ADAPTIVE_COUNTER_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>
#include <corefold/cf_value.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

struct cf_adaptive_counter {
	/* Line 0: read by every operation; written when a limit is first seen. Lending credit to all CPUs reads the
	 * pointers once per CPU, so they are not on the count's line, which all other CPUs request at that time. */
	struct cf_slot *slots; /* with credit: cf_cpu.h; the rest of own[]: hints of the CPU */
	uint64_t *holders;     /* a bit for each CPU whose credit may be non-zero. Written under the lock bit */
	uint32_t *seen;        /* low half of each CPU's total at the last settle. Written under the lock bit */
	int64_t guard;         /* invariant 6. Written under the lock bit; lowered by set alone */
	int64_t compared;      /* a value that comparisons were near to, or none: policy alone. Under the lock bit */
	int32_t credit_max;       /* constant */
	uint32_t compared_expiry; /* the age at which `compared` expires. Under the lock bit */
	uint32_t sums_to_shrink; /* sums by comparisons of a CPU before smaller credits are tried. Under the lock bit */
	uint32_t pad0;
	int64_t watermark;     /* a lower count calls credit back: the guard, or what it is about to be. Invariant 6 */
	/* Line 1: the count, and what its lock bit protects: the holder of the bit owns this line. */
	uint64_t word CF_LINE_ALIGNED; /* count << 2 | lock bit | LENT bit; changed by atomic operations alone */
	uint64_t moves;                /* sections of the lock so far. Under the lock bit; read by lockless sums */
	int64_t granted;               /* credit given to slots minus credit returned. The same */
	int64_t max_total;             /* the sum of all maxima. The same */
	uint32_t refills;              /* and flushes, since settle last looked. Under the lock bit, as all below */
	uint32_t compared_age;         /* sections that moved credit since `compared` was set */
	uint32_t guessed;              /* 1: `compared` has expired, and no comparison was near it since */
	uint32_t pad1[5];
	/* Line 2: who waits for the lock bit; written by every arrival. */
	struct cf_lock queue CF_LINE_ALIGNED;
};

CF_STATIC_ASSERT(offsetof(struct cf_adaptive_counter, word) == CF_LINE, "the count has a line of its own");
CF_STATIC_ASSERT(offsetof(struct cf_adaptive_counter, queue) == 2 * CF_LINE, "so has the queue");
CF_STATIC_ASSERT(sizeof(struct cf_adaptive_counter) == 3 * CF_LINE, "three lines");

/* credit_max: the largest credit of one CPU; 0 means 2,048. Returns 0, -EINVAL or -ENOMEM. */
int cf_adaptive_counter_init(struct cf_adaptive_counter *counter, int64_t value, int32_t credit_max);
void cf_adaptive_counter_destroy(struct cf_adaptive_counter *counter);

/* Also resets the guard (invariant 6). Must not overlap limited_add. Returns 0, -ERANGE or membarrier's errno. */
int cf_adaptive_counter_set(struct cf_adaptive_counter *counter, int64_t value);

int cf_adaptive_counter_add_slow(struct cf_adaptive_counter *counter, int64_t amount);

/* 0 or -ERANGE. */
static inline int cf_adaptive_counter_add(struct cf_adaptive_counter *counter, int64_t amount)
{
	if (CF_LIKELY(cf_slot_add_credit(counter->slots, amount) == CF_SLOT_DONE))
		return 0;
	return cf_adaptive_counter_add_slow(counter, amount);
}

static inline int cf_adaptive_counter_sub(struct cf_adaptive_counter *counter, int64_t amount)
{
	/* INT64_MIN does not fit, nor does what it negates to. */
	return cf_adaptive_counter_add(counter, amount == INT64_MIN ? INT64_MIN : -amount);
}

static inline int cf_adaptive_counter_inc(struct cf_adaptive_counter *counter)
{
	return cf_adaptive_counter_add(counter, 1);
}

static inline int cf_adaptive_counter_dec(struct cf_adaptive_counter *counter)
{
	return cf_adaptive_counter_add(counter, -1);
}

/* The value, within half the sum of the maxima; exact when nothing is lent. */
int64_t cf_adaptive_counter_read(const struct cf_adaptive_counter *counter);

static inline int64_t cf_adaptive_counter_read_positive(const struct cf_adaptive_counter *counter)
{
	int64_t value = cf_adaptive_counter_read(counter);
	return value > 0 ? value : 0;
}

/* The value lies within [*low, *high] at one moment during the call. */
void cf_adaptive_counter_bounds(const struct cf_adaptive_counter *counter, int64_t *low, int64_t *high);

int64_t cf_adaptive_counter_sum(struct cf_adaptive_counter *counter);

static inline int64_t cf_adaptive_counter_sum_positive(struct cf_adaptive_counter *counter)
{
	int64_t value = cf_adaptive_counter_sum(counter);
	return value > 0 ? value : 0;
}

int cf_adaptive_counter_compare_slow(struct cf_adaptive_counter *counter, int64_t rhs);

/* -1, 0 or 1: the value is below, at or above rhs. Exact. */
static inline int cf_adaptive_counter_compare(struct cf_adaptive_counter *counter, int64_t rhs)
{
	/* Acquire: if this sees an add, it sees what was done before the add. */
	uint64_t word = __atomic_load_n(&counter->word, __ATOMIC_ACQUIRE);
	int64_t count = (int64_t)word >> 2;
	if (CF_LIKELY(count > rhs))
		return 1;
	return word & 1 ? cf_adaptive_counter_compare_slow(counter, rhs) : cf_value_order(count, rhs);
}

int cf_adaptive_counter_limited_add_slow(struct cf_adaptive_counter *counter, int64_t limit, int64_t amount);

/*
 * Adds amount unless that takes the value past limit: below it for a negative amount, above it for a positive one.
 * Returns 0, -ENOSPC (refused), -ERANGE or membarrier's errno. Fast for negative amounts, and as cheap as one global
 * count near their limit. Positive ones always take the lock bit: for an upper limit, count the free amount down
 * instead.
 */
static inline int cf_adaptive_counter_limited_add(struct cf_adaptive_counter *counter, int64_t limit, int64_t amount)
{
	/* Relaxed: slots with credit are valid for this guard; before it becomes invalid they are closed. */
	if (CF_LIKELY(amount < 0 && limit <= __atomic_load_n(&counter->guard, __ATOMIC_RELAXED)) &&
	    CF_LIKELY(cf_slot_add_credit(counter->slots, amount) == CF_SLOT_DONE))
		return 0;
	return cf_adaptive_counter_limited_add_slow(counter, limit, amount);
}

/*
 * Folds the credit of CPUs that have not changed it since the last call back into the count. A busy counter does this by
 * itself; for a counter that becomes idle, call it, once a minute for example. Returns the number of CPUs folded, or
 * membarrier's errno.
 */
int cf_adaptive_counter_settle(struct cf_adaptive_counter *counter);

/* How many CPUs hold credit: for tests and reports. Blocks on the lock bit. */
int cf_adaptive_counter_holders(struct cf_adaptive_counter *counter);

static inline bool cf_adaptive_counter_initialized(const struct cf_adaptive_counter *counter)
{
	return counter && counter->slots;
}

CF_EXTERN_END

#endif
