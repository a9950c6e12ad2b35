/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_percpu_counter.h: one shared 64-bit count and a 32-bit delta for each CPU, as in Linux; and the variant proposed in
 * 2016 that stays global while its value is small.
 *
 * Choose it when exact reads are rare, and no comparison is near a limit. Near a limit use cf_adaptive_counter.h; for
 * frequent approximate sums with a small error bound, cf_tree_counter.h.
 *
 * Cost: add touches this CPU's slot; every batch-th also the shared line, under a lock. sum takes the lock and reads
 * a line for each possible CPU. Memory: 128 bytes, and 64 for each possible CPU. The value is in the caller's units.
 *
 *   operation                          may overlap     progress
 *   init, init_with, destroy           nothing         as malloc
 *   add, add_batch, sub, inc, dec      everything      fast path lock-free; every fold blocks on the lock
 *   read, read_positive, initialized   everything      wait-free
 *   sum, sum_positive                  everything      blocks on the lock, then reads each slot
 *   compare, compare_batch             everything      as read when far from rhs, as sum when near
 *   limited_add                        everything      fast path lock-free far from the limit, else as sum
 *   set                                everything      blocks; interrupts all CPUs
 *   set_limit                          no compare      blocks; interrupts all CPUs
 *
 * Guarantees, each with its test in tests/percpu_counter.c:
 *   1. Nothing is lost: with no add under way, sum is exact.  ("sums are exact")
 *   2. |read - sum| < batch x slots at every moment, where batch is the largest passed to add_batch, and slots is
 *      cf_slot_count(): the possible CPUs plus one.  ("read is within its bound")
 *   3. sum counts every add that returned before it began, none that began after it returned, and each concurrent one or
 *      not.  It is no snapshot: of a subtraction and a later addition on another CPU it may see the addition
 *      alone, as in Linux.
 *   4. limited_add never takes the value past the limit, and refuses only if at some moment during the call it would
 *      have. Overlapping changes toward the limit by other functions each count as before or after the call.
 *      ("no oversell, no false refusal")
 *   5. The count stays within +-CF_VALUE_MAX (sums add the deltas to it); an operation that would leave this range returns
 *      -ERANGE and changes nothing.  ("near the ends")
 * How 4 holds: while the count is further above the highest lower limit than the sum of all deltas can be, every CPU has a
 * quota, and limited_add takes from its slot alone. An operation that lowers the count below that, or needs a sum to
 * decide, first withdraws the quotas and waits for takers under way (src/percpu_counter.c has the invariants).
 * set, set_limit and a limited_add near its limit wait by membarrier(2); where the kernel refuses it, they return -EPERM,
 * -ENOSYS or -ENOMEM and change nothing.
 *
 * In a signal handler that interrupted one of the kit's slow paths in its own thread, an operation that would wait for that
 * thread returns -EDEADLK and changes nothing; sum and compare use the intermediate state. In a child of fork(2), locks
 * that other threads held stay held (cf_lock.h).  (tests/limits.c)
 *
 * Lifetime: zeroed memory is an uninitialised counter. The counter must have the alignment of its type (64 bytes, more than
 * plain malloc gives), or init returns -EINVAL. Destroy once, when nobody uses it.
 *
 * Five lines:
 *   struct cf_percpu_counter free_inodes;
 *   if (cf_percpu_counter_init(&free_inodes, 2000)) return -ENOMEM;
 *   cf_percpu_counter_dec(&free_inodes);
 *   if (cf_percpu_counter_compare(&free_inodes, 0) < 0) cf_percpu_counter_inc(&free_inodes);
 *   cf_percpu_counter_destroy(&free_inodes);
 *
 * Source: names and semantics of include/linux/percpu_counter.h; set_limit from the thread of March 2016. We differ:
 * amounts that do not fit are errors, limited_add returns -ENOSPC where Linux returns false, set may overlap adds,
 * and sums cover possible CPUs, not online ones.
 */
#ifndef COREFOLD_CF_PERCPU_COUNTER_H
#define COREFOLD_CF_PERCPU_COUNTER_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>
#include <corefold/cf_value.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

struct cf_percpu_counter {
	/* Line 0: read by every add; written by init, set_limit, a larger batch, a new guard. */
	struct cf_slot *slots;
	int32_t batch;        /* of add; constant */
	int32_t bound;        /* the largest batch so far: |delta| < bound. Written under the lock */
	int64_t guard;        /* the highest lower limit so far. Written under the lock, only raised */
	int64_t limit;        /* set_limit's, valid while global */
	uint32_t many_cpus;   /* set_limit works from this many CPUs; constant */
	uint32_t global;      /* 1: no deltas. Under the lock */
	uint32_t quota;       /* 1: permits let limited_add take in its slot; 2: withdrawn, not fenced. Under the lock */
	uint32_t pad;
	uint64_t pad_line[1];
	/* Line 1: every fold. */
	struct cf_lock lock CF_LINE_ALIGNED;
	int64_t count;        /* written under the lock, read by everybody */
};

CF_STATIC_ASSERT(offsetof(struct cf_percpu_counter, lock) == CF_LINE, "what folds write is not what adds read");
CF_STATIC_ASSERT(sizeof(struct cf_percpu_counter) == 2 * CF_LINE, "two lines");

struct cf_percpu_options {
	int32_t batch;           /* 0: max(32, 2 x CPUs) */
	uint32_t many_cpus;      /* 0: 33, "more than 32 CPUs" */
	enum cf_lock_kind lock;  /* the lock of folds, and of the global mode */
};

/* 0, -EINVAL (null, |value| > CF_VALUE_MAX, negative batch) or -ENOMEM. */
int cf_percpu_counter_init(struct cf_percpu_counter *counter, int64_t value);
int cf_percpu_counter_init_with(struct cf_percpu_counter *counter, int64_t value, const struct cf_percpu_options *options);
void cf_percpu_counter_destroy(struct cf_percpu_counter *counter);

/* 0, -ERANGE or membarrier's errno. */
int cf_percpu_counter_set(struct cf_percpu_counter *counter, int64_t value);

/*
 * Counts globally while |value| <= percpu_limit x CPUs (0: the default batch x CPUs), and per CPU for good once it has
 * grown past that. Returns 1 if the counter is global now, 0 if it stays as it is (too few CPUs, or too large a
 * value), -EINVAL for a count of zero or a negative limit: call it after the value is set.
 */
int cf_percpu_counter_set_limit(struct cf_percpu_counter *counter, int64_t percpu_limit);

int cf_percpu_counter_add_slow(struct cf_percpu_counter *counter, int64_t amount, int32_t batch);

/* 0 or -ERANGE. A batch of 0 or less folds at once. */
static inline int cf_percpu_counter_add_batch(struct cf_percpu_counter *counter, int64_t amount, int32_t batch)
{
	/* Relaxed: only raised, by this path before the first delta that needs it. */
	if (CF_LIKELY(batch <= __atomic_load_n(&counter->bound, __ATOMIC_RELAXED) && batch >= 0) &&
	    CF_LIKELY(cf_slot_add_within(counter->slots, amount, batch) == CF_SLOT_DONE))
		return 0;
	return cf_percpu_counter_add_slow(counter, amount, batch);
}

static inline int cf_percpu_counter_add(struct cf_percpu_counter *counter, int64_t amount)
{
	if (CF_LIKELY(cf_slot_add_within(counter->slots, amount, counter->batch) == CF_SLOT_DONE))
		return 0;
	return cf_percpu_counter_add_slow(counter, amount, counter->batch);
}

static inline int cf_percpu_counter_sub(struct cf_percpu_counter *counter, int64_t amount)
{
	return amount == INT64_MIN ? cf_percpu_counter_add_slow(counter, INT64_MIN, 0) :
				     cf_percpu_counter_add(counter, -amount);
}

static inline int cf_percpu_counter_inc(struct cf_percpu_counter *counter)
{
	return cf_percpu_counter_add(counter, 1);
}

static inline int cf_percpu_counter_dec(struct cf_percpu_counter *counter)
{
	return cf_percpu_counter_add(counter, -1);
}

static inline int64_t cf_percpu_counter_read(const struct cf_percpu_counter *counter)
{
	return __atomic_load_n(&counter->count, __ATOMIC_RELAXED); /* relaxed: guarantee 2 promises no order */
}

static inline int64_t cf_percpu_counter_read_positive(const struct cf_percpu_counter *counter)
{
	int64_t value = cf_percpu_counter_read(counter);
	return value > 0 ? value : 0;
}

int64_t cf_percpu_counter_sum(struct cf_percpu_counter *counter);

static inline int64_t cf_percpu_counter_sum_positive(struct cf_percpu_counter *counter)
{
	int64_t value = cf_percpu_counter_sum(counter);
	return value > 0 ? value : 0;
}

/*
 * -1, 0 or 1: the value is below, at or above rhs. By the count alone if |count - rhs| > batch x slots, else by sum. A batch
 * that is smaller than the largest of an add so far counts as that one.
 */
int cf_percpu_counter_compare_batch(struct cf_percpu_counter *counter, int64_t rhs, int32_t batch);

static inline int cf_percpu_counter_compare(struct cf_percpu_counter *counter, int64_t rhs)
{
	return cf_percpu_counter_compare_batch(counter, rhs, counter->batch);
}

int cf_percpu_counter_limited_add_slow(struct cf_percpu_counter *counter, int64_t limit, int64_t amount);

/*
 * Adds amount unless that takes the value past limit: below it for a negative amount, above it for a positive one.
 * 0, -ENOSPC (refused), -ERANGE or membarrier's errno. Fast for negative amounts far from the limit.
 */
static inline int cf_percpu_counter_limited_add(struct cf_percpu_counter *counter, int64_t limit, int64_t amount)
{
	/* In order: guard before permit. An old guard is a lower one, and refuses more. */
	if (CF_LIKELY(amount < 0 && limit <= (int64_t)cf_load_in_order((const uint64_t *)&counter->guard)) &&
	    CF_LIKELY(cf_slot_add_quota(counter->slots, amount, counter->batch) == CF_SLOT_DONE))
		return 0;
	return cf_percpu_counter_limited_add_slow(counter, limit, amount);
}

static inline bool cf_percpu_counter_initialized(const struct cf_percpu_counter *counter)
{
	return counter && counter->slots;
}

CF_EXTERN_END

#endif
