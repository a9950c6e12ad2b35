/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_wait.h: how all waits of the kit work: spin, then yield the CPU, then sleep.
 *
 * Internal: everything here may change. cf_lock.h says what it means for the locks.
 *
 *   CF_LOCK_WAIT_UNTIL(condition)   any condition; sleeps for a tenth of a millisecond at a time
 *   cf_lock_wait_turn, _hand_over   a word with one waiter: 1 until it is handed over; sleeps until then
 *   cf_wait_on, cf_wake             a futex word and any value, with a deadline
 *
 * Ordering: 1. What happened before cf_lock_hand_over happens before what follows cf_lock_wait_turn.  (tests/lock.c)
 *           2. cf_wait_on and cf_wake order nothing: the caller's accesses to the word do.
 *
 * Source: futex(2). The simulator's scheduler is fair, so in simulation spin locks yield and never sleep (CF_LOCK_PARKS).
 */
#ifndef COREFOLD_CF_WAIT_H
#define COREFOLD_CF_WAIT_H

#include <corefold/cf_shim.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>

CF_EXTERN_BEGIN

#ifndef CF_LOCK_SPINS /* less, to have the rare path often in tests */
#define CF_LOCK_SPINS 1024
#endif

#ifndef CF_LOCK_YIELDS
#define CF_LOCK_YIELDS 64
#endif

/*
 * Sleeps while *word is `value`, until it is woken or `deadline` has passed (CLOCK_MONOTONIC; null: never; one that is no time
 * has passed). 0, which may be spurious, or -ETIMEDOUT. errno stays.
 */
int cf_wait_on(uint32_t *word, uint32_t value, const struct timespec *deadline);
/* Wakes one who sleeps on the word. The memory may be gone: then nobody is woken, or somebody spuriously. */
void cf_wake(uint32_t *word);
/* Sleeps for a moment, so that threads of any priority can run. */
void cf_lock_sleep(void);
/* Sleeps until *waiting, which was 1, is 0. */
void cf_lock_park(uint32_t *waiting);

/*
 * Waits until `condition` holds. In simulation, whose scheduler is fair, the last loop is the same at every turn, so that it
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

/* Whether `condition` came to hold within the looks, or, outside of a simulation, the yields. */
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
		cf_wake(waiting);
#else
	__atomic_store_n(waiting, 0, __ATOMIC_RELEASE);
#endif
}

/* Whether this time of CLOCK_MONOTONIC has come; null never comes. */
bool cf_deadline_passed(const struct timespec *deadline);

/* Those who sleep for a lock, oldest first, on their stacks (src/waiters.h); under the lock's wait lock. */
struct cf_waiter;
struct cf_wait_list {
	struct cf_waiter *first, *last;
};

/* This thread, as owner words of locks name it: not 0, a multiple of 8, the same in a child of fork(2). */
static inline uintptr_t cf_self(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

CF_EXTERN_END

#endif
