/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_mutex.h: a lock whose waiters spin while it is handed over, then sleep; starvation-free.
 *
 * Choose it where the holder may block, or there may be more threads than CPUs. For sections of a few instructions with
 * a CPU per thread, cf_mcs.h hands over faster; pthread_mutex_t has less code but can starve a thread.
 *
 * Cost: 32 bytes. Uncontended: two compare-and-swaps on the lock's line. Contended: spinners queue in cf_osq.h, and the
 * first of them takes the lock; sleeping and waking are a system call each.
 *
 *   operation           may overlap                          progress
 *   cf_mutex_init       nothing on this lock                 wait-free
 *   cf_mutex_lock       everything                           blocks; see guarantee 2
 *   cf_mutex_timedlock  everything                           blocks until the deadline at most
 *   cf_mutex_trylock    everything                           wait-free
 *   cf_mutex_unlock     by the holder                        blocks on the wait lock if anybody sleeps
 * The kernel spins while the owner runs. A program cannot know that: a spinner gives up when the owner has not changed
 * for CF_LOCK_SPINS polls (about 20 us), or after CF_OSQ_ROUNDS times as many in all. With more threads than CPUs, each
 * thread that finds a preempted owner spins that long.
 *
 * Guarantees, each with its test in tests/locks.c or tests/lock_windows.c ("mutex"):
 *   1. What one holder did happens before what the next holder does.
 *   2. If the longest-sleeping waiter is woken but does not get the lock, the holder hands it the lock directly: spinners
 *      and new arrivals do not overtake it again.
 *   3. A timeout leaves the lock as if the call had not been made.
 *
 * Errors: -EDEADLK when the caller holds it already, -ETIMEDOUT, -EBUSY (trylock).
 * Hazards: signal handlers and fork as in cf_lock.h, except that a handler which locks what its thread holds gets -EDEADLK.
 *
 * Lifetime: zeroed memory is an unlocked lock. unlock may access the lock after the next holder has it: free its memory
 * only when no unlock is under way, as with the kernel's.
 *
 * Five lines:
 *   struct cf_mutex mutex = { 0 };
 *   if (cf_mutex_timedlock(&mutex, &deadline)) return -ETIMEDOUT;
 *   ...
 *   cf_mutex_unlock(&mutex);
 *
 * Source: the design of Linux's struct mutex (Documentation/locking/mutex-design.rst): owner word with flags, wait
 * list, spinners' queue, layout. We differ: how long spinners spin; hand-over is one step, under the wait lock.
 */
#ifndef COREFOLD_CF_MUTEX_H
#define COREFOLD_CF_MUTEX_H

#include <corefold/cf_osq.h>
#include <corefold/cf_qspin.h>
#include <errno.h>

CF_EXTERN_BEGIN

struct cf_mutex {
	uintptr_t owner;           /* cf_self() of the holder, 0 when free, and flags (src/mutex.c); written by everybody */
	struct cf_qspin wait_lock; /* of the list, and of the flags */
	struct cf_osq osq;         /* those who spin */
	struct cf_wait_list waiters; /* under wait_lock */
};

CF_STATIC_ASSERT(sizeof(struct cf_mutex) == 32, "as the head of this file says");
CF_STATIC_ASSERT(offsetof(struct cf_mutex, wait_lock) == 8 && offsetof(struct cf_mutex, osq) == 12 &&
		 offsetof(struct cf_mutex, waiters) == 16, "the kernel's order");

static inline void cf_mutex_init(struct cf_mutex *mutex)
{
	mutex->owner = 0;
	cf_qspin_init(&mutex->wait_lock);
	cf_osq_init(&mutex->osq);
	mutex->waiters.first = mutex->waiters.last = NULL;
}

int cf_mutex_lock_slow(struct cf_mutex *mutex, const struct timespec *deadline);
int cf_mutex_trylock_slow(struct cf_mutex *mutex);
void cf_mutex_unlock_slow(struct cf_mutex *mutex);

static inline bool cf_mutex_lock_once_(struct cf_mutex *mutex)
{
	uintptr_t expected = 0;
	/* Acquire: after the last holder's release in unlock. */
	return __atomic_compare_exchange_n(&mutex->owner, &expected, cf_self(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* 0 or -EBUSY. */
static inline int cf_mutex_trylock(struct cf_mutex *mutex)
{
	return CF_LIKELY(cf_mutex_lock_once_(mutex)) ? 0 : cf_mutex_trylock_slow(mutex);
}

/*
 * 0, -ETIMEDOUT or -EDEADLK; the deadline is a time of CLOCK_MONOTONIC, null is never. One below 0, or whose tv_nsec is not
 * within 0 to 999,999,999, has passed.
 */
static inline int cf_mutex_timedlock(struct cf_mutex *mutex, const struct timespec *deadline)
{
	return CF_LIKELY(cf_mutex_lock_once_(mutex)) ? 0 : cf_mutex_lock_slow(mutex, deadline);
}

/* 0 or -EDEADLK. */
static inline int cf_mutex_lock(struct cf_mutex *mutex)
{
	return cf_mutex_timedlock(mutex, NULL);
}

static inline void cf_mutex_unlock(struct cf_mutex *mutex)
{
	CF_LOCK_RELEASED("mutex_unlock");
	uintptr_t expected = cf_self();
	/* Release: this critical section before the next holder's acquire. */
	if (CF_UNLIKELY(!__atomic_compare_exchange_n(&mutex->owner, &expected, (uintptr_t)0, 0, __ATOMIC_RELEASE,
						     __ATOMIC_RELAXED)))
		cf_mutex_unlock_slow(mutex);
}

static inline bool cf_mutex_is_locked(const struct cf_mutex *mutex)
{
	return __atomic_load_n(&mutex->owner, __ATOMIC_RELAXED) >= 8; /* relaxed: a hint */
}

CF_EXTERN_END

#endif
