/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_qspin.h: a queued spin lock of 4 bytes that needs no node from the caller, like the kernel's spinlock_t.
 *
 * Choose it for a lock in each of many small objects, and for critical sections of a few instructions. Where the holder
 * can keep a node, cf_mcs.h is one operation cheaper under contention.
 *
 * Cost: 4 bytes. Uncontended: a compare-and-swap and a store. Contended: each waiter spins on its thread's node (a line
 * each, allocated at the thread's first wait); only the first in line polls the lock's line.
 *
 *   operation         may overlap                          progress
 *   cf_qspin_init     nothing on this lock                 wait-free
 *   cf_qspin_lock     everything; not twice by a thread    blocks; first come, first served among those who queue
 *   cf_qspin_trylock  everything                           wait-free; fails while anybody is in line
 *   cf_qspin_unlock   by the holder, from any thread       wait-free
 * A thread that finds the lock free and the queue empty takes it at once; no thread overtakes one that is in the queue. A
 * thread without a node (nodes.h: out of memory, nested signal handlers, more than 16,000 threads) polls instead, without a
 * place in the queue.
 * How waiters spin, yield and sleep, and the hazards of signal handlers and fork: cf_lock.h. A thread's first wait
 * allocates memory, so it must not be in a signal handler.
 *
 * Ordering: 1. What one holder did happens before what the next holder does.  (tests/locks.c, "qspin")
 *
 * Lifetime: zeroed memory is an unlocked lock. unlock does not touch the lock after the next holder may have it.
 *
 * Five lines:
 *   struct cf_qspin lock = { 0 };
 *   cf_qspin_lock(&lock);
 *   object->links++;
 *   cf_qspin_unlock(&lock);
 *
 * Source: Mellor-Crummey and Scott (1991), with the holder's bit beside the tail as in Linux's qspinlock, so that a
 * node is needed only while waiting. We differ: no pending bit; waiters sleep after spinning and yielding.
 */
#ifndef COREFOLD_CF_QSPIN_H
#define COREFOLD_CF_QSPIN_H

#include <corefold/cf_wait.h>

CF_EXTERN_BEGIN

struct cf_qspin {
	union {
		uint32_t word;
		struct {
			uint8_t held;  /* 1 when held; written to 0 by the holder */
			uint8_t pad;
			uint16_t tail; /* the number of the last node in line, 0 when none; exchanged by who joins it */
		} part;
	} u;
};

CF_STATIC_ASSERT(sizeof(struct cf_qspin) == 4, "as the head of this file says");
CF_STATIC_ASSERT(offsetof(struct cf_qspin, u.part.tail) == 2, "the tail is the upper half of the word");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cf_qspin's word is split for little-endian machines"
#endif

static inline void cf_qspin_init(struct cf_qspin *lock)
{
	lock->u.word = 0;
}

void cf_qspin_lock_slow(struct cf_qspin *lock);

static inline bool cf_qspin_trylock(struct cf_qspin *lock)
{
	uint32_t expected = 0;
	/* Acquire: after the last holder's release in unlock. */
	return __atomic_compare_exchange_n(&lock->u.word, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void cf_qspin_lock(struct cf_qspin *lock)
{
	if (CF_UNLIKELY(!cf_qspin_trylock(lock)))
		cf_qspin_lock_slow(lock);
}

static inline void cf_qspin_unlock(struct cf_qspin *lock)
{
	/* Release: this critical section before the next one's acquire. One byte: the tail beside it stays. */
	__atomic_store_n(&lock->u.part.held, 0, __ATOMIC_RELEASE);
}

static inline bool cf_qspin_is_locked(const struct cf_qspin *lock)
{
	return __atomic_load_n(&lock->u.word, __ATOMIC_RELAXED) != 0; /* relaxed: a hint, old when it is read */
}

CF_EXTERN_END

#endif
