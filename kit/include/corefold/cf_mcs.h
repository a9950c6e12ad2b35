/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_mcs.h: a queued spin lock of 8 bytes. Each waiter spins on a node of its own, on its stack.
 *
 * Choose it for contended critical sections of a few instructions, where the holder can keep a node until it unlocks.
 * cf_qspin.h has 4 bytes and needs no node from the caller; cf_mutex.h is for sections that may block.
 *
 * Cost: 8 bytes. Uncontended: an exchange and a compare-and-swap on the lock's line. A hand-over moves one line to one
 * waiter, however many wait; joining the queue moves the lock's line.
 *
 *   operation       may overlap                          progress
 *   cf_mcs_init     nothing on this lock                 wait-free
 *   cf_mcs_lock     everything; not twice by a thread    blocks; first come, first served
 *   cf_mcs_trylock  everything                           wait-free
 *   cf_mcs_unlock   by the holder, with its node         waits for a waiter that is about to link itself
 * How waiters spin, yield and sleep, and the hazards of signal handlers and fork: cf_lock.h.
 *
 * Ordering: 1. What one holder did happens before what the next holder does.  (tests/locks.c, "mcs")
 *
 * Lifetime: a node lives from lock to unlock, on the holder's stack. Zeroed memory is an unlocked lock.
 *
 * Five lines:
 *   struct cf_mcs_node node;
 *   cf_mcs_lock(&lock, &node);
 *   ...
 *   cf_mcs_unlock(&lock, &node);
 *
 * Source: J. Mellor-Crummey and M. Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors"
 * (1991). We differ: waiters sleep after spinning and yielding.
 */
#ifndef COREFOLD_CF_MCS_H
#define COREFOLD_CF_MCS_H

#include <corefold/cf_wait.h>

CF_EXTERN_BEGIN

struct cf_mcs_node {
	struct cf_mcs_node *next; /* written by the waiter behind, read by the holder */
	uint32_t waiting;         /* 1: spins; 2: sleeps. Written by the holder before to 0, watched by its waiter */
};

struct cf_mcs {
	struct cf_mcs_node *tail; /* the last in line, null when free; written by everybody */
};

CF_STATIC_ASSERT(sizeof(struct cf_mcs) == 8, "as the head of this file says");

static inline void cf_mcs_init(struct cf_mcs *lock)
{
	lock->tail = NULL;
}

static inline void cf_mcs_lock(struct cf_mcs *lock, struct cf_mcs_node *node)
{
	node->next = NULL;
	__atomic_store_n(&node->waiting, 1, __ATOMIC_RELAXED); /* relaxed: published by the exchange */
	/* Acquire: after the unlock that left null. Release: the node's fields before its address. */
	struct cf_mcs_node *before = __atomic_exchange_n(&lock->tail, node, __ATOMIC_ACQ_REL);
	if (!before)
		return;
	/* Release: pairs with the acquire load of next in unlock; the waiter's fields before the link.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	__atomic_store_n(&before->next, node, __ATOMIC_RELEASE);
	cf_lock_wait_turn(&node->waiting);
}

static inline bool cf_mcs_trylock(struct cf_mcs *lock, struct cf_mcs_node *node)
{
	struct cf_mcs_node *expected = NULL;
	node->next = NULL;
	node->waiting = 1;
	/* Acquire, release: as the exchange in cf_mcs_lock. */
	return __atomic_compare_exchange_n(&lock->tail, &expected, node, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline void cf_mcs_unlock(struct cf_mcs *lock, struct cf_mcs_node *node)
{
	/* Acquire, here and below: pairs with the waiter's release store of next.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	struct cf_mcs_node *next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
	if (!next) {
		struct cf_mcs_node *expected = node;
		/* Release: this critical section before the next taker's exchange. */
		if (__atomic_compare_exchange_n(&lock->tail, &expected, (struct cf_mcs_node *)NULL, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
		CF_LOCK_WAIT_UNTIL((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) != NULL);
	}
	cf_lock_hand_over(&next->waiting);
}

CF_EXTERN_END

#endif
