/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_brlock.h: a lock for readers on every CPU that share no line, and rare writers that pay for it ("big-reader lock").
 *
 * Choose it where nearly all sections read, and are short. Where writers are not rare, cf_rwsem.h; where readers can start
 * again, cf_seqlock.h; where they can see old data, RCU.
 *
 * Cost: 64 bytes, and a line for each possible CPU. A reader adds to its CPU's line when it comes and when it goes; a writer
 * writes every CPU's line twice and reads it once.
 *
 *   operation               may overlap                     progress
 *   cf_brlock_init          nothing on this lock            as malloc
 *   cf_brlock_read_lock     everything; no nesting          blocks while a writer is inside, or came first
 *   cf_brlock_read_trylock  everything                      wait-free
 *   cf_brlock_read_unlock   by any thread, with the token   wait-free
 *   cf_brlock_write_lock    everything                      blocks; first come, first served among writers and the
 *                                                           readers that found a writer
 *   cf_brlock_write_unlock  by the writer                   wait-free but for the lines
 *   cf_brlock_destroy       nothing                         as free
 * A reader that comes again while it is inside waits for ever if a writer came in between. Signal handlers, fork: cf_lock.h.
 *
 * Guarantees, each with its test in tests/locks.c ("brlock"):
 *   1. While a writer is inside, nobody else is.
 *   2. What a holder did happens before what a later holder does, if one of the two is a writer.
 *   3. Nobody starves: a writer that came first passes all readers but those inside; a reader that found a writer
 *      stands in line with the writers.
 *
 * Lifetime: init allocates the lines, destroy gives them back. A token is worth one unlock.
 *
 * Five lines:
 *   struct cf_brlock lock;
 *   if (cf_brlock_init(&lock)) return -ENOMEM;
 *   int token = cf_brlock_read_lock(&lock);
 *   look_at(mounts);
 *   cf_brlock_read_unlock(&lock, token);
 *
 * Source: the brlock of Linux 2.4, and lglock of the vfs-scale series (2010), by idea. We differ: readers of one CPU do
 * not exclude each other; the unlock may happen on another CPU, by the token.
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
	struct cf_slot *slots;   /* of each: `word`, written by its CPU's readers and by writers */
	uint32_t count;          /* of slots; constant */
	struct cf_qspin writers; /* the line of writers, and of readers that found one */
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
