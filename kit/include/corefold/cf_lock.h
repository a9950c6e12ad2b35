/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_lock.h: the spin locks of the counters, queued or ticket, chosen at run time: the spin locks of Linux since 4.2, and
 * those before.
 *
 * Choose pthread_mutex_t over it, unless the critical section is a few instructions. Queued (cf_mcs.h) is the default;
 * ticket is for comparison: all its waiters read the line that the holder writes.
 *
 * Cost: 16 bytes. Uncontended: one atomic exchange (queued) or addition (ticket) and one store or compare-and-swap.
 * A hand-over moves one line to one waiter (queued), or to all of them (ticket). Joining the queue moves lines, too: two
 * threads that do nothing else are faster with a ticket lock.
 *
 *   operation        may overlap                          progress
 *   cf_lock_init     nothing on this lock                 wait-free
 *   cf_lock_take     everything; not twice by a thread    blocks; first come, first served
 *   cf_lock_try      everything                           wait-free
 *   cf_lock_drop     by the holder, with its node         queued: waits for a waiter that is about to link itself
 * A waiter spins for CF_LOCK_SPINS polls, then yields the CPU CF_LOCK_YIELDS times, as with more threads than CPUs the
 * holder or the next in line may be preempted. Then it sleeps: in a queue until it is woken (futex(2)), elsewhere for a tenth
 * of a millisecond at a time. So a waiter of a real-time policy (SCHED_FIFO) cannot keep a holder of lower priority from
 * running for longer than it spins.  (tests/lock.c, "a waiter of a real-time policy lets the holder run")
 *
 * Hazards, for this lock and all that is built on it, each with its test in tests/limits.c:
 *   signal handlers   A handler that takes a lock which its own thread holds, or queues for, waits for ever. The counters
 *                     return -EDEADLK instead.
 *   fork              If another thread held the lock at the time of fork(2), it is never dropped in the child, where taking
 *                     it waits for ever. Fork while no other thread uses the lock, or call exec in the child.
 *
 * Ordering: 1. What one holder did happens before what the next holder does.  (tests/lock.c)
 *
 * Lifetime: a node lives on the stack from take to drop.
 *
 * Five lines:
 *   struct cf_lock_node node;
 *   cf_lock_take(&lock, &node);
 *   ...
 *   cf_lock_drop(&lock, &node);
 *
 * Source: J. Mellor-Crummey and M. Scott, "Algorithms for scalable synchronization on shared-memory
 * multiprocessors" (1991): both locks.
 */
#ifndef COREFOLD_CF_LOCK_H
#define COREFOLD_CF_LOCK_H

#include <corefold/cf_mcs.h>

CF_EXTERN_BEGIN

enum cf_lock_kind { CF_LOCK_QUEUED = 0, CF_LOCK_TICKET = 1 };

struct cf_lock_node {
	struct cf_mcs_node queued;
};

struct cf_lock {
	union {
		struct cf_mcs queued;
		struct {
			uint32_t next;  /* ticket: taken by arrivals */
			uint32_t owner; /* ticket: written by the holder, spun on by all */
		} ticket;
	} u;
	uint32_t kind; /* enum cf_lock_kind; constant */
};

CF_STATIC_ASSERT(sizeof(struct cf_lock) == 16, "as the head of this file says");

static inline void cf_lock_init(struct cf_lock *lock, enum cf_lock_kind kind)
{
	cf_mcs_init(&lock->u.queued);
	lock->kind = (uint32_t)kind;
}

static inline void cf_lock_take(struct cf_lock *lock, struct cf_lock_node *node)
{
	if (lock->kind == CF_LOCK_TICKET) {
		/* Relaxed: the ticket alone; the load of owner below orders. */
		uint32_t mine = __atomic_fetch_add(&lock->u.ticket.next, 1, __ATOMIC_RELAXED);
		/* Acquire: after the last holder's release store of owner. */
		CF_LOCK_WAIT_UNTIL(__atomic_load_n(&lock->u.ticket.owner, __ATOMIC_ACQUIRE) == mine);
		return;
	}
	cf_mcs_lock(&lock->u.queued, &node->queued);
}

/* Takes it if nobody holds it. */
static inline bool cf_lock_try(struct cf_lock *lock, struct cf_lock_node *node)
{
	if (lock->kind == CF_LOCK_TICKET) {
		/* Acquire: after the last holder's release store; if its ticket is still the next one, nobody has it. */
		uint32_t owner = __atomic_load_n(&lock->u.ticket.owner, __ATOMIC_ACQUIRE);
		return __atomic_compare_exchange_n(&lock->u.ticket.next, &owner, owner + 1, 0, __ATOMIC_RELAXED,
						   __ATOMIC_RELAXED);
	}
	return cf_mcs_trylock(&lock->u.queued, &node->queued);
}

static inline void cf_lock_drop(struct cf_lock *lock, struct cf_lock_node *node)
{
	CF_LOCK_RELEASED("spin_unlock");
	if (lock->kind == CF_LOCK_TICKET) {
		uint32_t owner = __atomic_load_n(&lock->u.ticket.owner, __ATOMIC_RELAXED); /* relaxed: only we write */
		/* Release: this critical section before the next one's acquire load. */
		__atomic_store_n(&lock->u.ticket.owner, owner + 1, __ATOMIC_RELEASE);
		return;
	}
	cf_mcs_unlock(&lock->u.queued, &node->queued);
}

CF_EXTERN_END

#endif
