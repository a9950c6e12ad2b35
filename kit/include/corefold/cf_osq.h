/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_osq.h: the queue of threads that spin for a sleeping lock before they sleep ("optimistic-spin queue"). Only the first
 * polls the lock; any thread can leave from any place in the queue.
 *
 * Choose it to build a sleeping lock whose waiters spin first, such as cf_mutex.h and cf_rwsem.h. It protects no data.
 *
 * Cost: 4 bytes, and a node of a line for each thread (made at its first wait). Uncontended: an exchange and a
 * compare-and-swap. A hand-over moves one line to one waiter.
 *
 *   operation      may overlap                        progress
 *   cf_osq_init    nothing on this queue              wait-free
 *   cf_osq_lock    everything; one queue at a time    ends after CF_OSQ_ROUNDS x CF_LOCK_SPINS polls; then waits for
 *                                                     neighbours that are leaving or linking themselves at the time
 *   cf_osq_unlock  by the first in line               waits for a neighbour that is linking itself or leaving
 * In the kernel, threads leave the queue when they need to reschedule or the thread ahead is preempted, which a program
 * cannot know. Here they read `progress`, a word of the lock that changes at every hand-over (its owner), after every
 * CF_LOCK_SPINS polls of their node, and leave when it was the same CF_OSQ_SAME times and not 0. While the lock is handed
 * over they stay, for CF_OSQ_ROUNDS times CF_LOCK_SPINS polls at most.
 *
 * Ordering: 1. What the first did before cf_osq_unlock happens before what the next does as first.  (tests/locks.c, "osq")
 *           2. A thread that leaves does not affect the others: all that stay become first in turn.
 *              (tests/lock_windows.c, "osq")
 *
 * Lifetime: zeroed memory is an empty queue. Hazards as in cf_lock.h.
 *
 * Five lines:
 *   if (cf_osq_lock(&lock->osq, &lock->owner, NULL)) {
 *   	taken = spin_while_the_owner_changes(lock);
 *   	cf_osq_unlock(&lock->osq);
 *   }
 *   if (!taken) sleep_for(lock);
 *
 * Source: Linux's kernel/locking/osq_lock.c for the idea of an MCS queue (1991) that threads can leave. They leave as from a
 * doubly linked list in which each node locks the one ahead. We differ in when threads leave.
 */
#ifndef COREFOLD_CF_OSQ_H
#define COREFOLD_CF_OSQ_H

#include <corefold/cf_wait.h>

CF_EXTERN_BEGIN

#ifndef CF_OSQ_ROUNDS
#define CF_OSQ_ROUNDS 64
#endif

#ifndef CF_OSQ_SAME
#define CF_OSQ_SAME 3
#endif

struct cf_osq {
	uint32_t tail; /* the number of the last member's node, 0 when empty; written by everybody */
};

CF_STATIC_ASSERT(sizeof(struct cf_osq) == 4, "as the head of this file says");

static inline void cf_osq_init(struct cf_osq *queue)
{
	queue->tail = 0;
}

/*
 * True: this thread is the first, until it calls cf_osq_unlock. False: it left, because `progress` (may be null) did not
 * change or changed too often, the deadline passed (CLOCK_MONOTONIC; may be null), or there is no node for it.
 */
bool cf_osq_lock(struct cf_osq *queue, const uintptr_t *progress, const struct timespec *deadline);
void cf_osq_unlock(struct cf_osq *queue);

static inline bool cf_osq_is_locked(const struct cf_osq *queue)
{
	return __atomic_load_n(&queue->tail, __ATOMIC_RELAXED) != 0; /* relaxed: a hint */
}

CF_EXTERN_END

#endif
