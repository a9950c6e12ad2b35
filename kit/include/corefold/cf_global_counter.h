/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_global_counter.h: one atomic word.
 *
 * Choose it when few CPUs change the value, or every change is followed by an exact comparison: then nothing is
 * cheaper. If many CPUs only add, use cf_percpu_counter.h.
 *
 * Cost: one atomic read-modify-write on a line that all users share. Memory: 64 bytes, nothing per CPU. The
 * value is in the caller's units.
 *
 *   operation       may overlap   progress
 *   init, set       nothing       wait-free
 *   add, read       everything    wait-free
 *   limited_add     everything    lock-free
 *
 * Guarantees (tests/counter.c, for every kind): reads are exact; limited_add decides at one moment; the value stays
 * within +-CF_VALUE_MAX: an operation that would leave this range returns -ERANGE (an add that is being refused is
 * visible until it returns).
 *
 * Five lines:
 *   struct cf_global_counter users;
 *   cf_global_counter_init(&users, 0);
 *   cf_global_counter_add(&users, 1);
 *   if (cf_global_counter_read(&users) > 100) cf_global_counter_add(&users, -1);
 */
#ifndef COREFOLD_CF_GLOBAL_COUNTER_H
#define COREFOLD_CF_GLOBAL_COUNTER_H

#include <corefold/cf_value.h>
#include <errno.h>

CF_EXTERN_BEGIN

struct cf_global_counter {
	int64_t count;
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_global_counter) == CF_LINE, "a line of its own");

/* 0, -EINVAL or -ERANGE. */
static inline int cf_global_counter_init(struct cf_global_counter *counter, int64_t value)
{
	if (!counter || !CF_IS_ALIGNED(counter))
		return -EINVAL;
	if (!cf_value_fits(value))
		return -ERANGE;
	__atomic_store_n(&counter->count, value, __ATOMIC_RELAXED); /* relaxed: nothing runs beside it */
	return 0;
}

static inline int64_t cf_global_counter_read(const struct cf_global_counter *counter)
{
	return __atomic_load_n(&counter->count, __ATOMIC_ACQUIRE); /* acquire: after the adds that it contains */
}

/* 0 or -ERANGE. */
static inline int cf_global_counter_add(struct cf_global_counter *counter, int64_t amount)
{
	/* So small that refused ones of 2^16 threads do not carry the word past its end. */
	const int64_t blind = (int64_t)1 << 44;
	int64_t count = 0, after;
	if (CF_LIKELY(amount <= blind && amount >= -blind)) {
		/* Release: what came before, for who reads it; acquire: symmetric, and free where it matters. */
		after = __atomic_add_fetch(&counter->count, amount, __ATOMIC_ACQ_REL);
		if (CF_LIKELY(cf_value_fits(after)))
			return 0;
		/* The same: x86 cannot tell, since what is taken back announces nothing. */
		__atomic_fetch_sub(&counter->count, amount, __ATOMIC_ACQ_REL);
		return -ERANGE;
	}
	count = cf_global_counter_read(counter);
	/* As above. x86 cannot tell, and ThreadSanitizer's test has no amounts of 2^44. */
	do
		if (!cf_value_add(count, amount, &after))
			return -ERANGE;
	while (!__atomic_compare_exchange_n(&counter->count, &count, after, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return 0;
}

/* Adds amount unless that takes the value past limit, in its direction. 0, -ENOSPC or -ERANGE. */
static inline int cf_global_counter_limited_add(struct cf_global_counter *counter, int64_t limit, int64_t amount)
{
	int64_t count = cf_global_counter_read(counter), after;
	do {
		if (!cf_value_add(count, amount, &after))
			return -ERANGE;
		if (amount < 0 ? after < limit : amount > 0 && after > limit)
			return -ENOSPC;
	} while (!__atomic_compare_exchange_n(&counter->count, &count, after, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return 0;
}

CF_EXTERN_END

#endif
