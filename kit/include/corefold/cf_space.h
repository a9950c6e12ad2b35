/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_space.h: the space accounts of a file system, in the manner of XFS's superblock: free blocks with a reserve, free
 * and allocated inodes, and reservations that are taken, used and returned. Exact at the last block.
 *
 * Choose it where several threads spend one budget and none may spend it twice: blocks, inodes, memory, quota.
 *
 * Cost: a take is one limited_add of the counter kind chosen, a return one add. Memory: 3 counters, so 768 bytes, and
 * for each possible CPU nothing (global) to 204 bytes (adaptive). Units: blocks and inodes, as you cut them.
 *
 *   operation                                 may overlap              progress
 *   init, destroy                             nothing                  as malloc
 *   take_*, return_*, add_inodes, usage       everything               the counter kind's limited_add, add, sum
 *   reserve                                   everything               the same
 *   reservation_use, reservation_end          not on one reservation   wait-free; the same
 *
 * Guarantees, each with its test in tests/space.c, for every kind:
 *   1. Nothing is sold twice: what is taken and not returned never exceeds what there was; without CF_SPACE_PRIVILEGED
 *      it leaves the reserve alone.  ("no oversell")
 *   2. -ENOSPC is right: at some moment during the call less was free than was asked for, and the reclaimer, if there is
 *      one, had nothing more to give back.  ("no false refusal", "what can be reclaimed")
 *   3. A reservation is whole or not at all: blocks are not kept if the inodes are refused.  But for the time of that
 *      call others see those blocks as taken: for guarantee 2 they were.
 *   4. When nothing is under way, free = initial - taken + returned, for blocks and inodes.  ("nothing is lost")
 *
 * Lifetime: a cf_space is aligned as its type is (64 bytes), or init returns -EINVAL. A reservation ends once, by cf_space_reservation_end, which returns what was not used; it is one thread's.
 *
 * Five lines:
 *   struct cf_space_reservation r;
 *   if (cf_space_reserve(&space, &r, 8, 1, 0)) return -ENOSPC;
 *   cf_space_reservation_use(&r, 3, 1);
 *   cf_space_reservation_end(&r);
 *
 * Source: XFS's m_fdblocks, m_ifree and m_icount, by their meaning. We differ: a take is decided in one step, where
 * XFS subtracts, compares and adds back, so that a refused giant never makes small takers fail beside it.
 */
#ifndef COREFOLD_CF_SPACE_H
#define COREFOLD_CF_SPACE_H

#include <corefold/cf_counter.h>

CF_EXTERN_BEGIN

/* May use the reserve. */
#define CF_SPACE_PRIVILEGED 1u
/* What the reclaimer has taken for itself stays: for takes that are not worth it, and for the reclaimer's own. */
#define CF_SPACE_NO_RECLAIM 2u

struct cf_space_options {
	enum cf_counter_kind kind;
	int64_t blocks;      /* free blocks, the reserve included */
	int64_t reserve;     /* of them, only for the privileged */
	int64_t inodes;      /* allocated inodes, all free */
	int64_t inode_limit; /* the most that add_inodes may ever make; 0: no limit */
	struct cf_counter_options block_counter, inode_counter;
	/*
	 * Asked when so many blocks are not free: returns blocks that only a cache holds (by cf_space_return_blocks), as many
	 * as it likes. False: there are none. In the context of whoever takes. May be null.
	 */
	bool (*reclaim)(void *context, int64_t blocks);
	void *context;
};

struct cf_space {
	struct cf_counter free_blocks, free_inodes, allocated_inodes;
	int64_t reserve;     /* constant */
	int64_t inode_limit; /* constant */
	bool (*reclaim)(void *context, int64_t blocks); /* constant, as the next */
	void *context;
} CF_LINE_ALIGNED;

struct cf_space_usage {
	int64_t free_blocks, free_inodes, allocated_inodes;
};

struct cf_space_reservation {
	struct cf_space *space; /* null when ended */
	int64_t blocks, inodes; /* not yet used */
};

/* 0, -EINVAL (a negative number, a reserve larger than blocks), -ERANGE or -ENOMEM. */
int cf_space_init(struct cf_space *space, const struct cf_space_options *options);
void cf_space_destroy(struct cf_space *space);

/* 0, -ENOSPC or -EINVAL (a negative number). Returning more than was taken is not noticed, until it exceeds 2^60: -ERANGE.
 * Every call may also return what the counters do: membarrier's errno, or -EDEADLK in a signal handler. */
int cf_space_take_blocks(struct cf_space *space, int64_t blocks, unsigned flags);
int cf_space_return_blocks(struct cf_space *space, int64_t blocks);
int cf_space_take_inodes(struct cf_space *space, int64_t inodes);
int cf_space_return_inodes(struct cf_space *space, int64_t inodes);

/*
 * New inodes, all free, out of so many blocks: XFS makes 64 at a time when none is free. 0, -ENOSPC (no blocks, or the
 * limit), -EINVAL, or -ERANGE (more than a counter can hold: 2^60). On failure nothing is taken.
 */
int cf_space_add_inodes(struct cf_space *space, int64_t inodes, int64_t blocks, unsigned flags);

/* 0, -ENOSPC or -EINVAL. On failure the reservation is ended and empty. */
int cf_space_reserve(struct cf_space *space, struct cf_space_reservation *reservation, int64_t blocks, int64_t inodes,
		     unsigned flags);
/* What it uses is the caller's for good. 0, or -ENOSPC if the reservation has less, and nothing happens. */
int cf_space_reservation_use(struct cf_space_reservation *reservation, int64_t blocks, int64_t inodes);
/* Returns the rest. Harmless on an ended one. */
void cf_space_reservation_end(struct cf_space_reservation *reservation);

/* By sums: exact when nothing is under way. */
void cf_space_usage(struct cf_space *space, struct cf_space_usage *usage);

CF_EXTERN_END

#endif
