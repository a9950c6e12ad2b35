/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_space.h: the space accounts of a file system, like those in XFS's superblock: free blocks with a reserve, free
 * and allocated inodes, and reservations that are taken, used and returned. Exact at the last block.
 *
 * Choose it where several threads allocate from one budget, which must never be exceeded: blocks, inodes, memory, quota.
 *
 * Cost: a take is one limited_add of the counter kind chosen, a return one add. Memory: 832 bytes with its 3 counters, plus
 * nothing (global) to 204 bytes (adaptive) per possible CPU. Units: the caller's blocks and inodes.
 *
 *   operation                                 may overlap              progress
 *   init, destroy                             nothing                  as malloc
 *   take_*, return_*, add_inodes, usage       everything               the counter kind's limited_add, add, sum
 *   reserve                                   everything               the same
 *   reservation_use, reservation_end          not on one reservation   wait-free; the same
 *
 * Guarantees, each with its test in tests/space.c, for every kind:
 *   1. No oversell: the amount taken and not returned never exceeds the total; a take without CF_SPACE_PRIVILEGED never
 *      uses the reserve.  ("no oversell")
 *   2. No false refusal: -ENOSPC means that at some moment during the call less was free than was requested, and that the
 *      reclaimer, if there is one, had nothing more to return.  ("no false refusal", "what can be reclaimed")
 *   3. A reservation is all or nothing: blocks are not kept if the inodes are refused.  During that call, though, other
 *      threads see these blocks as taken, and guarantee 2 counts them as taken.
 *   4. When no call is under way, free = initial - taken + returned, for blocks and inodes.  ("nothing is lost")
 *
 * Lifetime: a cf_space must have the alignment of its type (64 bytes), or init returns -EINVAL. A reservation is used by one
 * thread, and ended once, by cf_space_reservation_end, which returns what was not used.
 *
 * Five lines:
 *   struct cf_space_reservation r;
 *   if (cf_space_reserve(&space, &r, 8, 1, 0)) return -ENOSPC;
 *   cf_space_reservation_use(&r, 3, 1);
 *   cf_space_reservation_end(&r);
 *
 * Source: semantics of XFS's m_fdblocks, m_ifree and m_icount. We differ: a take is decided in one step, where XFS
 * subtracts, compares and adds back; so a refused large request never makes concurrent small ones fail.
 */
#ifndef COREFOLD_CF_SPACE_H
#define COREFOLD_CF_SPACE_H

#include <corefold/cf_counter.h>

CF_EXTERN_BEGIN

/* May use the reserve. */
#define CF_SPACE_PRIVILEGED 1u
/* Do not call the reclaimer: for takes that are not worth it, and for takes by the reclaimer itself. */
#define CF_SPACE_NO_RECLAIM 2u

struct cf_space_options {
	enum cf_counter_kind kind;
	int64_t blocks;      /* free blocks, the reserve included */
	int64_t reserve;     /* of them, for CF_SPACE_PRIVILEGED alone */
	int64_t inodes;      /* allocated inodes, all free */
	int64_t inode_limit; /* add_inodes creates no more than this in all; 0: no limit */
	struct cf_counter_options block_counter, inode_counter;
	/*
	 * The reclaimer, called by a take when that many blocks are not free: returns blocks that only a cache holds (by
	 * cf_space_return_blocks), as many as it chooses. False: there are none. May be null.
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

/* 0, -ENOSPC or -EINVAL (a negative number). Returning more than was taken is not detected until it exceeds 2^60: -ERANGE.
 * Every call may also return what the counters do: membarrier's errno, or -EDEADLK in a signal handler. */
int cf_space_take_blocks(struct cf_space *space, int64_t blocks, unsigned flags);
int cf_space_return_blocks(struct cf_space *space, int64_t blocks);
int cf_space_take_inodes(struct cf_space *space, int64_t inodes);
int cf_space_return_inodes(struct cf_space *space, int64_t inodes);

/*
 * Adds free inodes and takes the blocks for them; XFS adds 64 at a time when none is free. 0, -ENOSPC (no blocks, or the
 * limit), -EINVAL, or -ERANGE (more than a counter can hold: 2^60). On failure nothing is taken.
 */
int cf_space_add_inodes(struct cf_space *space, int64_t inodes, int64_t blocks, unsigned flags);

/* 0, -ENOSPC or -EINVAL. On failure the reservation is ended and empty. */
int cf_space_reserve(struct cf_space *space, struct cf_space_reservation *reservation, int64_t blocks, int64_t inodes,
		     unsigned flags);
/* The amount used is not returned at the end. 0, or -ENOSPC without effect if the reservation has less. */
int cf_space_reservation_use(struct cf_space_reservation *reservation, int64_t blocks, int64_t inodes);
/* Returns the rest. Harmless on an ended one. */
void cf_space_reservation_end(struct cf_space_reservation *reservation);

/* Sums, which are exact when no call is under way. */
void cf_space_usage(struct cf_space *space, struct cf_space_usage *usage);

CF_EXTERN_END

#endif
