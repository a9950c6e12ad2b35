/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_rwsem.h: a sleeping lock for many readers or one writer, of the kernel's design and layout (struct rw_semaphore, the
 * lock of its inodes and mappings).
 *
 * Choose it where sections are long or may block, or to study the kernel's. Its readers write one shared line: for short
 * sections that nearly always read, use cf_brlock.h, cf_seqlock.h or RCU.
 *
 * Cost: 40 bytes, on one line or two, depending on the address. Uncontended: an addition and a store for a reader, a
 * compare-and-swap and two stores for a writer. Writers spin in cf_osq.h before they sleep; readers sleep.
 *
 *   operation                       may overlap                        progress
 *   cf_rwsem_init                   nothing on this lock               wait-free
 *   _read_lock, _write_lock         everything                         block; see guarantee 3
 *   _read_timedlock, _write_timedlock  everything                      block until the deadline at most
 *   _read_trylock, _write_trylock   everything                         lock-free
 *   _read_unlock, _write_unlock     by a reader, by the writer         block on the wait lock if anybody sleeps
 *   _downgrade                      by the writer                      the same
 * A nested read lock deadlocks if a writer arrives in between.
 * The kernel's writers spin while the owner runs. A program cannot know that; cf_mutex.h says how their spinning is bounded.
 * While readers hold the lock, one writer spins for CF_LOCK_SPINS polls, and sets NONSPINNABLE in `owner` for the others.
 *
 * Guarantees, each with its test in tests/locks.c or tests/lock_windows.c ("rwsem"):
 *   1. Between a writer's lock and unlock or downgrade no other writer and no reader holds it.
 *   2. What a holder did happens before what a later holder does, if one of the two is a writer.
 *   3. A waiter that is first among the sleeping ones, and has slept for CF_RWSEM_HAND_OFF_NS in all, is not overtaken
 *      again by spinners or new arrivals. If a reader is first, all sleeping readers get the lock together (256 at most).
 *   4. A timeout leaves the lock as if the call had not been made.
 *   5. downgrade admits readers at once, unless a writer is first among the sleeping ones; no other writer can hold the lock in
 *      between.
 *
 * Errors: -EDEADLK when the caller holds it for writing already, -ETIMEDOUT, -EBUSY (trylock). Hazards: as cf_mutex.h.
 *
 * Lifetime: zeroed memory is an unlocked lock. As with cf_mutex.h, unlock may access the lock after the next holder has it.
 *
 * Five lines:
 *   struct cf_rwsem sem = { 0 };
 *   cf_rwsem_write_lock(&sem);
 *   change(tree);
 *   cf_rwsem_downgrade(&sem);
 *   look_at(tree); cf_rwsem_read_unlock(&sem);
 *
 * Source: the design of Linux 6's kernel/locking/rwsem.c, as its comments and papers describe it. We differ: how long
 * spinners spin; after a hand-off request the first writer sleeps instead of spinning; errors and deadlines.
 */
#ifndef COREFOLD_CF_RWSEM_H
#define COREFOLD_CF_RWSEM_H

#include <corefold/cf_osq.h>
#include <corefold/cf_qspin.h>
#include <errno.h>

CF_EXTERN_BEGIN

#ifndef CF_RWSEM_HAND_OFF_NS /* the kernel's: 4 ms */
#define CF_RWSEM_HAND_OFF_NS 4000000
#endif

/* In count. */
#define CF_RWSEM_WRITER INT64_C(1)
#define CF_RWSEM_SLEEPERS INT64_C(2)  /* the list is not empty: changed under wait_lock */
#define CF_RWSEM_HAND_OFF INT64_C(4)  /* the first of the list is not to be passed: changed under wait_lock */
#define CF_RWSEM_READER INT64_C(256)  /* one reader; also one who will take it back, see src/rwsem.c */
#define CF_RWSEM_READERS (-CF_RWSEM_READER)
#define CF_RWSEM_NO_READER (CF_RWSEM_WRITER | CF_RWSEM_SLEEPERS | CF_RWSEM_HAND_OFF)

/* In owner, beside cf_self() of the writer, or of the last thread that got it for reading (which may be gone). */
#define CF_RWSEM_OWNED_BY_READERS 1u
#define CF_RWSEM_NONSPINNABLE 2u

struct cf_rwsem {
	int64_t count;               /* written by everybody */
	struct cf_wait_list waiters; /* under wait_lock */
	struct cf_qspin wait_lock;   /* written by those who sleep, and who wake them */
	struct cf_osq osq;           /* written by writers who spin */
	uintptr_t owner;             /* a hint for spinners; written by who gets the lock, and by writers who leave it */
};

CF_STATIC_ASSERT(sizeof(struct cf_rwsem) == 40, "the kernel's size");
CF_STATIC_ASSERT(offsetof(struct cf_rwsem, count) == 0 && offsetof(struct cf_rwsem, waiters) == 8 &&
		 offsetof(struct cf_rwsem, wait_lock) == 24 && offsetof(struct cf_rwsem, osq) == 28 &&
		 offsetof(struct cf_rwsem, owner) == 32, "the kernel's order");
CF_STATIC_ASSERT(sizeof(struct cf_rwsem) <= CF_LINE,
		 "one line, if it begins on one; two lines at most");

static inline void cf_rwsem_init(struct cf_rwsem *sem)
{
	sem->count = 0;
	sem->waiters.first = sem->waiters.last = NULL;
	cf_qspin_init(&sem->wait_lock);
	cf_osq_init(&sem->osq);
	sem->owner = 0;
}

int cf_rwsem_read_lock_slow(struct cf_rwsem *sem, int64_t count, const struct timespec *deadline);
int cf_rwsem_write_lock_slow(struct cf_rwsem *sem, const struct timespec *deadline);
void cf_rwsem_wake(struct cf_rwsem *sem);
void cf_rwsem_wake_readers(struct cf_rwsem *sem);

/* Relaxed, here and below: owner is a hint for spinners. NONSPINNABLE stays until a writer has it. */
static inline void cf_rwsem_owned_by_reader_(struct cf_rwsem *sem, uintptr_t self)
{
	uintptr_t nonspinnable = __atomic_load_n(&sem->owner, __ATOMIC_RELAXED) & CF_RWSEM_NONSPINNABLE;
	__atomic_store_n(&sem->owner, self | CF_RWSEM_OWNED_BY_READERS | nonspinnable, __ATOMIC_RELAXED);
}

/* 0, -ETIMEDOUT or -EDEADLK; the deadline as in cf_mutex_timedlock. */
static inline int cf_rwsem_read_timedlock(struct cf_rwsem *sem, const struct timespec *deadline)
{
	/* Acquire: after the last writer's release in unlock or downgrade. */
	int64_t count = __atomic_add_fetch(&sem->count, CF_RWSEM_READER, __ATOMIC_ACQUIRE);
	if (CF_UNLIKELY(count & CF_RWSEM_NO_READER))
		return cf_rwsem_read_lock_slow(sem, count, deadline);
	cf_rwsem_owned_by_reader_(sem, cf_self());
	return 0;
}

/* 0 or -EDEADLK. */
static inline int cf_rwsem_read_lock(struct cf_rwsem *sem)
{
	return cf_rwsem_read_timedlock(sem, NULL);
}

/* 0 or -EBUSY. */
static inline int cf_rwsem_read_trylock(struct cf_rwsem *sem)
{
	int64_t count = 0; /* the usual case: no load before the compare-and-swap, which would move the line twice */
	while (!(count & CF_RWSEM_NO_READER))
		/* Acquire: as in read_lock. */
		if (__atomic_compare_exchange_n(&sem->count, &count, count + CF_RWSEM_READER, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			cf_rwsem_owned_by_reader_(sem, cf_self());
			return 0;
		}
	return -EBUSY;
}

static inline void cf_rwsem_read_unlock(struct cf_rwsem *sem)
{
	CF_LOCK_RELEASED("up_read");
	/* Release: this section before the next writer's acquire. */
	int64_t count = __atomic_sub_fetch(&sem->count, CF_RWSEM_READER, __ATOMIC_RELEASE);
	if (CF_UNLIKELY((count & (CF_RWSEM_READERS | CF_RWSEM_WRITER | CF_RWSEM_SLEEPERS)) == CF_RWSEM_SLEEPERS))
		cf_rwsem_wake(sem);
}

/* 0 or -EBUSY. */
static inline int cf_rwsem_write_trylock(struct cf_rwsem *sem)
{
	int64_t expected = 0;
	/* Acquire: after the release of the last writer, and of all readers. */
	if (!__atomic_compare_exchange_n(&sem->count, &expected, CF_RWSEM_WRITER, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -EBUSY;
	__atomic_store_n(&sem->owner, cf_self(), __ATOMIC_RELAXED); /* relaxed: a hint */
	return 0;
}

/* 0, -ETIMEDOUT or -EDEADLK. */
static inline int cf_rwsem_write_timedlock(struct cf_rwsem *sem, const struct timespec *deadline)
{
	return CF_LIKELY(cf_rwsem_write_trylock(sem) == 0) ? 0 : cf_rwsem_write_lock_slow(sem, deadline);
}

/* 0 or -EDEADLK. */
static inline int cf_rwsem_write_lock(struct cf_rwsem *sem)
{
	return cf_rwsem_write_timedlock(sem, NULL);
}

static inline void cf_rwsem_write_unlock(struct cf_rwsem *sem)
{
	CF_LOCK_RELEASED("up_write");
	int64_t count;
	__atomic_store_n(&sem->owner, 0, __ATOMIC_RELAXED); /* relaxed: a hint; the release below orders it, too */
	/* Release: this section before the next one's acquire. */
	count = __atomic_sub_fetch(&sem->count, CF_RWSEM_WRITER, __ATOMIC_RELEASE);
	if (CF_UNLIKELY(count & CF_RWSEM_SLEEPERS))
		cf_rwsem_wake(sem);
}

/* The writer becomes a reader. */
static inline void cf_rwsem_downgrade(struct cf_rwsem *sem)
{
	/* Release: what was written before the readers' acquire. */
	int64_t count = __atomic_add_fetch(&sem->count, CF_RWSEM_READER - CF_RWSEM_WRITER, __ATOMIC_RELEASE);
	cf_rwsem_owned_by_reader_(sem, cf_self());
	if (CF_UNLIKELY(count & CF_RWSEM_SLEEPERS))
		cf_rwsem_wake_readers(sem);
}

/* Whether anybody holds it, or is about to give up trying: a hint, old when it is read. */
static inline bool cf_rwsem_is_locked(const struct cf_rwsem *sem)
{
	return (__atomic_load_n(&sem->count, __ATOMIC_RELAXED) & (CF_RWSEM_READERS | CF_RWSEM_WRITER)) != 0;
}

CF_EXTERN_END

#endif
