/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_rmap.h: a file's reverse map, which says which of its pages are mapped where: an interval tree under a reader-writer
 * semaphore, like Linux's i_mmap under i_mmap_rwsem.
 *
 * Choose it to find the intervals that overlap a range, where there are many and most do not.
 *
 * Cost: a change is O(log n), with the semaphore held for writing; a visit is O(log n + found), with it held for reading, so
 * readers share its line. Memory: 64 bytes per interval, provided by the caller.
 *
 *   operation        may overlap                                   progress
 *   add, remove      everything                                    block
 *   visit            everything; the callback must not change it   blocks
 *   init             nothing
 *
 * Guarantees (tests/vfs/rmap.c):
 *   1. visit calls back once for every overlapping interval that is in the tree during all of the visit, in order of the
 *      first page.  ("what overlaps is visited")
 *   2. When remove has returned, no visit uses the interval, neither an earlier nor a later one.
 *
 * Lifetime: an interval is the caller's memory, and must exist from add to remove.
 *
 * Five lines:
 *   struct cf_rmap_interval mine = { .first = 10, .last = 19 };
 *   cf_rmap_add(&file->rmap, &mine);
 *   cf_rmap_visit(&file->rmap, 0, 12, unmap, NULL);
 *   cf_rmap_remove(&file->rmap, &mine);
 *
 * Source: Cormen et al., "Introduction to Algorithms", interval trees; balanced by priorities (a treap), where Linux has a
 * red-black tree.
 */
#ifndef COREFOLD_CF_RMAP_H
#define COREFOLD_CF_RMAP_H

#include <corefold/cf_rwsem.h>

CF_EXTERN_BEGIN

struct cf_rmap_interval {
	int64_t first, last;   /* pages, both included; constant while in the tree */
	void *owner;           /* the caller's */
	/* Under the semaphore. */
	struct cf_rmap_interval *left, *right;
	int64_t highest;       /* the greatest last of this subtree */
	uint64_t priority;     /* greater than those below */
	uint64_t pad;
};

struct cf_rmap {
	struct cf_rwsem sem;
	struct cf_rmap_interval *root; /* under sem */
	uint64_t random;               /* under sem */
};

void cf_rmap_init(struct cf_rmap *rmap);
/* 0, or -EINVAL: last is before first. */
int cf_rmap_add(struct cf_rmap *rmap, struct cf_rmap_interval *interval);
/* The interval must be in the tree. */
void cf_rmap_remove(struct cf_rmap *rmap, struct cf_rmap_interval *interval);
/* Until `visit` returns false. */
void cf_rmap_visit(struct cf_rmap *rmap, int64_t first, int64_t last,
		   bool (*visit)(struct cf_rmap_interval *interval, void *argument), void *argument);

CF_EXTERN_END

#endif
