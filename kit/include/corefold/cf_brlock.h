/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_brlock.h: a reader-writer lock whose readers share no line, at the cost of the writers ("big-reader lock").
 *
 * Choose it where nearly all sections read, and are short. If writers are not rare, use cf_rwsem.h; if readers can retry,
 * cf_seqlock.h; if they may see old data, RCU.
 *
 * Cost: 64 bytes, and a line for each possible CPU. A reader does one atomic addition to its CPU's line to lock and one to
 * unlock; a writer writes every CPU's line twice and reads it once.
 *
 *   operation               may overlap                     progress
 *   cf_brlock_init          nothing on this lock            as malloc
 *   cf_brlock_read_lock     everything; no nesting          blocks while a writer holds the lock, or waits for it
 *   cf_brlock_read_trylock  everything                      wait-free
 *   cf_brlock_read_unlock   by any thread, with the token   wait-free
 *   cf_brlock_write_lock    everything                      blocks; first come, first served among writers and the
 *                                                           readers that found a writer
 *   cf_brlock_write_unlock  by the writer                   wait-free, O(CPUs)
 *   cf_brlock_destroy       nothing                         as free
 * A nested read_lock deadlocks if a writer arrived in between. Signal handlers, fork: cf_lock.h.
 *
 * Guarantees, each with its test in tests/locks.c ("brlock"):
 *   1. While a writer holds the lock, nobody else does.
 *   2. What a holder did happens before what a later holder does, if one of the two is a writer.
 *   3. No starvation: a waiting writer waits only for readers that hold the lock; a reader that finds a writer queues with
 *      the writers.
 *
 * Lifetime: init allocates the lines, destroy frees them. A token is valid for one unlock.
 *
 * Five lines:
 *   struct cf_brlock lock;
 *   if (cf_brlock_init(&lock)) return -ENOMEM;
 *   int token = cf_brlock_read_lock(&lock);
 *   look_at(mounts);
 *   cf_brlock_read_unlock(&lock, token);
 *
 * Source: the idea of Linux 2.4's brlock and of lglock in the vfs-scale series (2010). We differ: readers of one CPU do not
 * exclude each other; the unlock may happen on another CPU, by the token.
 */
#ifndef COREFOLD_CF_BRLOCK_H
#define COREFOLD_CF_BRLOCK_H

#include <corefold/cf_cpu.h>
#include <corefold/cf_qspin.h>
#include <errno.h>

CF_EXTERN_BEGIN

/* In a slot's word. */
#define CF_BRLOCK_WRITER UINT64_C(1)
#define CF_BRLOCK_READER UINT64_C(2)

struct cf_brlock {
	struct cf_slot *slots;   /* one per CPU; `word` is written by its CPU's readers and by writers */
	uint32_t count;          /* of slots; constant */
	struct cf_qspin writers; /* the queue of writers, and of readers that found one */
	uint64_t pad[CF_LINE / 8 - 2];
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_brlock) == CF_LINE, "what readers read is on no line that others write beside them");

/* 0 or -ENOMEM. */
int cf_brlock_init(struct cf_brlock *lock);
void cf_brlock_destroy(struct cf_brlock *lock);

int cf_brlock_read_lock_slow(struct cf_brlock *lock, int slot);
void cf_brlock_write_lock(struct cf_brlock *lock);
void cf_brlock_write_unlock(struct cf_brlock *lock);

/* Returns a token for the unlock. */
static inline int cf_brlock_read_lock(struct cf_brlock *lock)
{
	int slot = (int)cf_cpu_current();
	/* Acquire: after the last writer's release. The writer's bit is in the same word: no fence. */
	uint64_t word = __atomic_fetch_add(&lock->slots[slot].u.word, CF_BRLOCK_READER, __ATOMIC_ACQUIRE);
	return CF_LIKELY(!(word & CF_BRLOCK_WRITER)) ? slot : cf_brlock_read_lock_slow(lock, slot);
}

static inline void cf_brlock_read_unlock(struct cf_brlock *lock, int token)
{
	/* Release: this section before the writer's acquire load, which waits for it. */
	__atomic_fetch_sub(&lock->slots[token].u.word, CF_BRLOCK_READER, __ATOMIC_RELEASE);
}

/* A token, or -EBUSY. */
static inline int cf_brlock_read_trylock(struct cf_brlock *lock)
{
	int slot = (int)cf_cpu_current();
	/* Acquire: as in read_lock. */
	uint64_t word = __atomic_fetch_add(&lock->slots[slot].u.word, CF_BRLOCK_READER, __ATOMIC_ACQUIRE);
	if (CF_LIKELY(!(word & CF_BRLOCK_WRITER)))
		return slot;
	cf_brlock_read_unlock(lock, slot);
	return -EBUSY;
}

CF_EXTERN_END

#endif
