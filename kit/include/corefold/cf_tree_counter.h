/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_tree_counter.h: a per-CPU counter with an approximate sum of small, known error, maintained by carries up a tree.
 *
 * Choose it when many CPUs change a value and an approximate sum is read often: reading the root is one load, and its error
 * grows with CPUs x log(CPUs), not with CPUs x a batch large enough for the busiest CPU. To compare near a limit use
 * cf_adaptive_counter.h.
 *
 * How it works: each CPU has a leaf. A leaf, and every node, has its total and the part of it that was carried up; once
 * the difference reaches `batch`, all of it is carried to the parent. The batch of a level is that of the level below times
 * the fan-out (8), so a node carries no more often than each of its children.
 *
 * Cost: add touches this CPU's leaf; every batch-th also a node, every 8 x batch-th the node above. approximate reads
 * one line, sum a line for each possible CPU. Memory: 64 bytes, 64 for each possible CPU, and a sixth of that for nodes.
 *
 *   operation                       may overlap   progress
 *   init, destroy                   nothing       as malloc
 *   add                             everything    lock-free
 *   approximate, bounds             everything    wait-free
 *   sum                             everything    wait-free: reads each leaf
 *   compare_approximate             everything    wait-free
 *   compare                         everything    as approximate when the bounds decide, else as sum
 *   set                             no add        reads and writes each leaf
 *
 * Guarantees, each with its test in tests/tree_counter.c:
 *   1. Nothing is lost: with no add under way, sum is exact.  ("sums are exact")
 *   2. -under <= sum - approximate <= over at every moment at which no add is under way.  ("the rough sum is within its
 *      bounds")  An add under way changes the difference by what it carries: its amount, and what other adds have left on
 *      its way.  The bounds are constant from init on.
 *   3. sum counts every add that returned before it began, none that began after it returned, and each concurrent one or
 *      not.
 *   4. Sums and amounts stay within +-CF_VALUE_MAX: an add that would leave this range, by the approximate sum, returns
 *      -ERANGE.  ("near the ends")
 *
 * In a signal handler that interrupted one of the kit's slow paths in its own thread, an operation that would wait for that
 * thread returns -EDEADLK and changes nothing; sum and compare use the intermediate state. In a child of fork(2), locks
 * that other threads held stay held (cf_lock.h).  (tests/limits.c)
 *
 * Lifetime: zeroed memory is an uninitialised counter. The counter must have the alignment of its type (64 bytes, more than
 * plain malloc gives), or init returns -EINVAL. Destroy once, when nobody uses it.
 *
 * Five lines:
 *   struct cf_tree_counter pages;
 *   if (cf_tree_counter_init(&pages, 0, 32)) return -ENOMEM;
 *   cf_tree_counter_add(&pages, 1);
 *   if (cf_tree_counter_compare_approximate(&pages, 1 << 20) > 0) throttle();
 *   cf_tree_counter_destroy(&pages);
 *
 * Source: the description of "hierarchical per-CPU counters" (M. Desnoyers, for Linux, 2025-26). We differ: a carry takes
 * the accumulated difference, not the changed bits, so adding and subtracting around a multiple of the batch does not
 * carry each time.
 */
#ifndef COREFOLD_CF_TREE_COUNTER_H
#define COREFOLD_CF_TREE_COUNTER_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_value.h>

CF_EXTERN_BEGIN

#define CF_TREE_FANOUT 8
#define CF_TREE_LEVELS 8 /* of nodes: enough for 8^9 CPUs */

/* A line: what was added here, and how much of it the parent has. Both changed by atomic operations. */
struct cf_tree_node {
	int64_t total;
	int64_t carried;
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_tree_node) == CF_LINE, "a node is one line");

struct cf_tree_counter {
	struct cf_slot *leaves;     /* u.word: total, changed by its CPU; own[0]: carried, atomically */
	struct cf_tree_node *nodes; /* level by level, the root last */
	int64_t bound;              /* over and under: constant */
	int32_t batch;              /* of leaves; constant */
	uint32_t levels;            /* of nodes, at least 1: the root; constant */
	uint32_t first[CF_TREE_LEVELS]; /* the first node of each level; constant */
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_tree_counter) == CF_LINE, "one line that every add reads and none writes");

/* batch 0 is 32. 0, -EINVAL or -ENOMEM. */
int cf_tree_counter_init(struct cf_tree_counter *counter, int64_t value, int32_t batch);
void cf_tree_counter_destroy(struct cf_tree_counter *counter);
/* 0 or -ERANGE. */
int cf_tree_counter_set(struct cf_tree_counter *counter, int64_t value);

/* 0 or -ERANGE. */
int cf_tree_counter_add(struct cf_tree_counter *counter, int64_t amount);

static inline int64_t cf_tree_counter_approximate(const struct cf_tree_counter *counter)
{
	/* Relaxed: guarantee 2 promises no order. */
	return __atomic_load_n(&counter->nodes[counter->first[counter->levels - 1]].total, __ATOMIC_RELAXED);
}

/* The sum lies within [approximate - under, approximate + over]. */
static inline void cf_tree_counter_bounds(const struct cf_tree_counter *counter, int64_t *under, int64_t *over)
{
	*under = counter->bound;
	*over = counter->bound;
}

int64_t cf_tree_counter_sum(const struct cf_tree_counter *counter);

/* -1 or 1 when the bounds decide, 0 when they do not: the value is about rhs. */
int cf_tree_counter_compare_approximate(const struct cf_tree_counter *counter, int64_t rhs);
/* -1, 0 or 1, by the sum where the bounds do not decide. Beside adds under way the bounds decide as guarantee 2 says. */
int cf_tree_counter_compare(const struct cf_tree_counter *counter, int64_t rhs);

CF_EXTERN_END

#endif
