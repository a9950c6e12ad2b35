/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_lock.h: the spinning locks under the counters, of the two kinds whose difference the counters' history is about.
 *
 * Choose pthread_mutex_t over it, unless the critical section is a few instructions. Queued is the default; ticket is
 * here to be compared with: its waiters all read the line that the holder writes.
 *
 * Cost: 16 bytes. Uncontended: one atomic exchange (queued) or addition (ticket) and one store or compare-and-swap.
 * A hand-over moves one line to one waiter (queued), or one line to all of them (ticket). To queue up moves lines too: two
 * threads that do nothing else are faster with a ticket.
 *
 *   operation        may overlap                          progress
 *   cf_lock_init     nothing on this lock                 wait-free
 *   cf_lock_take     everything; not twice by a thread    blocks; first come, first served
 *   cf_lock_drop     by the holder, with its node         queued: waits for a waiter that is about to link itself
 * Waiting spins for CF_LOCK_SPINS looks, then yields the CPU CF_LOCK_YIELDS times: with more threads than CPUs the holder
 * or the next in line may be off its CPU. Then it sleeps: in a queue until it is woken (futex(2)), elsewhere for a tenth
 * of a millisecond at a time. So a waiter of a real-time policy (SCHED_FIFO) cannot keep a holder of lower priority from
 * running for longer than it spins.  (tests/lock.c, "a waiter of a real-time policy lets the holder run")
 *
 * Hazards, for this lock and all that is built on it, each with its test in tests/limits.c:
 *   signal handlers   A handler that takes a lock which its own thread holds, or queues for, waits for ever. The counters
 *                     return -EDEADLK instead.
 *   fork              If another thread held the lock at the time of fork(2), nobody in the child will ever drop it: who
 *                     takes it there waits for ever. Fork while no other thread uses it, or call exec in the child.
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

#include <corefold/cf_shim.h>
#include <sched.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

enum cf_lock_kind { CF_LOCK_QUEUED = 0, CF_LOCK_TICKET = 1 };

#ifndef CF_LOCK_SPINS /* less, to have the rare path often in tests */
#define CF_LOCK_SPINS 1024
#endif

#ifndef CF_LOCK_YIELDS
#define CF_LOCK_YIELDS 64
#endif

struct cf_lock_node {
	struct cf_lock_node *next; /* written by the waiter behind, read by the holder */
	uint32_t waiting;          /* 1: spins; 2: sleeps. Written by the holder before to 0, watched by its waiter */
};

struct cf_lock {
	union {
		struct cf_lock_node *tail; /* queued: the last in line, null when free */
		struct {
			uint32_t next;  /* ticket: taken by arrivals */
			uint32_t owner; /* ticket: written by the holder, spun on by all */
		} ticket;
	} u;
	uint32_t kind; /* enum cf_lock_kind; constant */
};

static inline void cf_lock_init(struct cf_lock *lock, enum cf_lock_kind kind)
{
	lock->u.tail = NULL;
	lock->kind = (uint32_t)kind;
}

/* Sleeps for a moment, so that threads of any priority can run. */
void cf_lock_sleep(void);
/* Sleeps until *waiting, which was 1, is 0. */
void cf_lock_park(uint32_t *waiting);
void cf_lock_wake(uint32_t *waiting);

/*
 * Waits until `condition` holds. In the lab, whose scheduler is fair, the last loop is the same at every turn, so that it
 * need not simulate each.
 */
#define CF_LOCK_WAIT_UNTIL(condition)                                                                                  \
	do {                                                                                                           \
		if (CF_LOCK_SPIN_UNTIL(condition))                                                                     \
			break;                                                                                         \
		while (!(condition))                                                                                   \
			CF_LOCK_REST();                                                                                \
	} while (0)

#if CF_LOCK_PARKS
#define CF_LOCK_REST() cf_lock_sleep()
#else
#define CF_LOCK_REST() sched_yield()
#endif

/* Whether `condition` came to hold within the looks, or, outside of the lab, the yields. */
#define CF_LOCK_SPIN_UNTIL(condition)                                                                                  \
	__extension__({                                                                                                \
		unsigned looks_ = 0;                                                                                   \
		bool holds_ = false;                                                                                   \
		while (looks_ < CF_LOCK_SPINS && !(holds_ = (condition))) {                                            \
			looks_++;                                                                                      \
			cf_pause();                                                                                    \
		}                                                                                                      \
		for (looks_ = 0; CF_LOCK_PARKS && looks_ < CF_LOCK_YIELDS && !holds_; looks_++) {                      \
			sched_yield();                                                                                 \
			holds_ = (condition);                                                                          \
		}                                                                                                      \
		holds_;                                                                                                \
	})

static inline void cf_lock_wait_turn(uint32_t *waiting)
{
	/* Acquire: after the last holder's release in cf_lock_hand_over. */
#if CF_LOCK_PARKS
	if (!CF_LOCK_SPIN_UNTIL(!__atomic_load_n(waiting, __ATOMIC_ACQUIRE)))
		cf_lock_park(waiting);
#else
	CF_LOCK_WAIT_UNTIL(!__atomic_load_n(waiting, __ATOMIC_ACQUIRE));
#endif
}

static inline void cf_lock_hand_over(uint32_t *waiting)
{
	/* Release: this critical section before the waiter's acquire load. The node may be gone at once: a wake-up that
	 * comes too late finds nobody. */
#if CF_LOCK_PARKS
	if (CF_UNLIKELY(__atomic_exchange_n(waiting, 0, __ATOMIC_RELEASE) == 2))
		cf_lock_wake(waiting);
#else
	__atomic_store_n(waiting, 0, __ATOMIC_RELEASE);
#endif
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
	node->next = NULL;
	__atomic_store_n(&node->waiting, 1, __ATOMIC_RELAXED); /* relaxed: published by the exchange */
	/* Acquire: after the drop that left null. Release: the node's fields before its address. */
	struct cf_lock_node *before = __atomic_exchange_n(&lock->u.tail, node, __ATOMIC_ACQ_REL);
	if (!before)
		return;
	/* Release: pairs with the acquire load of next in drop; the waiter's fields before the link. x86 cannot tell, here
	 * and in drop: arm64 and RISC-V need both, lest the waiter's own store of `waiting` come after the hand-over's. */
	__atomic_store_n(&before->next, node, __ATOMIC_RELEASE);
	cf_lock_wait_turn(&node->waiting);
}

static inline void cf_lock_drop(struct cf_lock *lock, struct cf_lock_node *node)
{
	if (lock->kind == CF_LOCK_TICKET) {
		uint32_t owner = __atomic_load_n(&lock->u.ticket.owner, __ATOMIC_RELAXED); /* relaxed: only we write */
		/* Release: this critical section before the next one's acquire load. */
		__atomic_store_n(&lock->u.ticket.owner, owner + 1, __ATOMIC_RELEASE);
		return;
	}
	/* Acquire: pairs with the waiter's release store of next; x86 cannot tell, as there. */
	struct cf_lock_node *next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
	if (!next) {
		struct cf_lock_node *expected = node;
		/* Release: this critical section before the next taker's exchange. */
		if (__atomic_compare_exchange_n(&lock->u.tail, &expected, (struct cf_lock_node *)NULL, 0,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
		/* Acquire: as above; x86 cannot tell. */
		CF_LOCK_WAIT_UNTIL((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) != NULL);
	}
	cf_lock_hand_over(&next->waiting);
}

CF_EXTERN_END

#endif
