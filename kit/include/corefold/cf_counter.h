/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_counter.h: a counter whose kind is chosen at init, to compare the kinds; cf_space.h is built on it.
 *
 * If the kind is known at build time, use the kind's own header, where the fast path is inline.
 *
 * Cost: one predictable branch and a call on top of the kind's. Memory: 256 bytes and what the kind says.
 *
 *   operation         may overlap   progress
 *   init, destroy     nothing       as malloc
 *   the others        everything    the kind's; limited_add of the tree kind blocks on a lock
 *
 * Guarantees (tests/counter.c, one body for every kind): sums are exact when no add is under way; limited_add never
 * takes the value past its limit, and refuses only if it would have done so at some moment during the call; an overlapping
 * add that changes the value toward the limit counts as before or after it.
 *
 * Five lines:
 *   struct cf_counter counter;
 *   if (cf_counter_init(&counter, CF_COUNTER_ADAPTIVE, 1000, NULL)) return -ENOMEM;
 *   cf_counter_add(&counter, 1);
 *   printf("%lld\n", (long long)cf_counter_sum(&counter));
 *   cf_counter_destroy(&counter);
 */
#ifndef COREFOLD_CF_COUNTER_H
#define COREFOLD_CF_COUNTER_H

#include <corefold/cf_adaptive_counter.h>
#include <corefold/cf_global_counter.h>
#include <corefold/cf_percpu_counter.h>
#include <corefold/cf_tree_counter.h>

CF_EXTERN_BEGIN

enum cf_counter_kind {
	CF_COUNTER_GLOBAL = 0,       /* one atomic word */
	CF_COUNTER_PERCPU = 1,       /* as Linux's percpu_counter */
	CF_COUNTER_PERCPU_LIMIT = 2, /* the same, global while small: set_limit */
	CF_COUNTER_ADAPTIVE = 3,
	CF_COUNTER_TREE = 4,
	CF_COUNTER_KINDS = 5,
};

struct cf_counter_options {
	int32_t batch;          /* per-CPU and tree kinds; 0 is their default */
	int32_t cap_max;        /* adaptive: the most credit that a CPU holds; 0 is its default */
	int64_t percpu_limit;   /* limit kind; 0 is the default batch */
	uint32_t many_cpus;     /* limit kind; 0 is 33 */
	enum cf_lock_kind lock; /* per-CPU kinds */
};

struct cf_counter {
	enum cf_counter_kind kind; /* constant */
	struct cf_lock lock;       /* tree: of limited_add. In the first line, as `kind` is read with it */
	union {
		struct cf_global_counter global;
		struct cf_percpu_counter percpu;
		struct cf_adaptive_counter adaptive;
		struct cf_tree_counter tree;
	} u CF_LINE_ALIGNED;
};

CF_STATIC_ASSERT(sizeof(struct cf_counter) == 4 * CF_LINE, "the kind's line and the largest kind");

/* "global", "percpu", "limit", "adaptive", "tree"; null for no kind. */
const char *cf_counter_kind_name(enum cf_counter_kind kind);

/*
 * options may be null. The limit kind stays per-CPU if the value is 0. 0, -EINVAL, -ERANGE or -ENOMEM; of the limit kind
 * membarrier's errno, too. After an error there is nothing to destroy.
 */
int cf_counter_init(struct cf_counter *counter, enum cf_counter_kind kind, int64_t value,
		    const struct cf_counter_options *options);
void cf_counter_destroy(struct cf_counter *counter);

/* 0 or -ERANGE. */
int cf_counter_add(struct cf_counter *counter, int64_t amount);
/* 0, -ENOSPC or -ERANGE; the direction is amount's. */
int cf_counter_limited_add(struct cf_counter *counter, int64_t limit, int64_t amount);
/* The value, as exact as the kind can give it by reading one or two lines. */
int64_t cf_counter_read(const struct cf_counter *counter);
int64_t cf_counter_sum(struct cf_counter *counter);
/* -1, 0 or 1. */
int cf_counter_compare(struct cf_counter *counter, int64_t rhs);

CF_EXTERN_END

#endif
