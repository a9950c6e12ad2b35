/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_seqlock.h: sequence locks: readers write nothing, and retry if there was a writer meanwhile.
 *
 * Choose it for a few words that are read often and written rarely. A reader may see a mixture of old and new words before
 * it learns that it must retry: it must not follow pointers that may be freed (use RCU for those) or loop on them.
 * cf_seqcount is the count alone, for writers that are serialised already; cf_seqlock includes a lock for them.
 *
 * Cost: 4 bytes (cf_seqcount), 8 (cf_seqlock). A reader reads the count's line twice and writes nothing; a writer writes it
 * twice.
 *
 *   operation                                may overlap                          progress
 *   cf_seqcount_begin                        everything                           waits while a writer writes
 *   cf_seqcount_retry                        everything                           wait-free
 *   cf_seqcount_write_begin, _write_end      readers; not other writers: lock     wait-free
 *   cf_seqcount_invalidate                   readers; not other writers           wait-free
 *   cf_seqlock_write_lock, _write_unlock     everything                           as cf_qspin.h
 * A stream of writers can starve a reader: where that may happen, let the reader take the lock after some attempts.
 * A reader in a signal handler that interrupted the writer in its own thread waits for ever.
 *
 * Guarantees, each with its test in tests/locks.c ("seqlock"):
 *   1. When cf_seqcount_retry returns false, everything read by CF_SEQ_READ since cf_seqcount_begin was written by writers
 *      that had finished before cf_seqcount_begin.
 *   2. What a writer did before write_end happens before what a reader does after a cf_seqcount_begin that sees it.
 *
 * The data is read with CF_SEQ_READ and written with CF_SEQ_WRITE (relaxed atomics): plain accesses would be data races, which
 * compilers may break and ThreadSanitizer reports.
 *
 * Lifetime: zeroed memory is initialised. The count wraps after 2^31 writes during one read, which may then be wrong.
 *
 * Five lines:
 *   do {
 *   	count = cf_seqcount_begin(&clock.count);
 *   	time = CF_SEQ_READ(clock.base) + CF_SEQ_READ(clock.offset);
 *   } while (cf_seqcount_retry(&clock.count, count));
 *
 * Source: names and semantics of Linux's include/linux/seqlock.h; the order of accesses from H. Boehm, "Can seqlocks get
 * along with programming language memory models?" (2012).
 */
#ifndef COREFOLD_CF_SEQLOCK_H
#define COREFOLD_CF_SEQLOCK_H

#include <corefold/cf_qspin.h>

CF_EXTERN_BEGIN

/* Relaxed: the count orders them, by the fences below. */
#define CF_SEQ_READ(lvalue) __atomic_load_n(&(lvalue), __ATOMIC_RELAXED)
#define CF_SEQ_WRITE(lvalue, value) __atomic_store_n(&(lvalue), (value), __ATOMIC_RELAXED)

struct cf_seqcount {
	uint32_t sequence; /* odd while a writer is inside; written by writers, read by readers */
};

struct cf_seqlock {
	struct cf_seqcount count;
	struct cf_qspin lock; /* of writers */
};

CF_STATIC_ASSERT(sizeof(struct cf_seqcount) == 4, "as the head of this file says");
CF_STATIC_ASSERT(sizeof(struct cf_seqlock) == 8 && offsetof(struct cf_seqlock, lock) == 4, "as the head of this file says");

static inline void cf_seqcount_init(struct cf_seqcount *count)
{
	count->sequence = 0;
}

/* The count as it is, odd or not; for those who go another way instead of waiting. Then as cf_seqcount_begin. */
static inline uint32_t cf_seqcount_peek(const struct cf_seqcount *count)
{
	/* Acquire: the data after the count. Pairs with the release store in write_end.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(&count->sequence, __ATOMIC_ACQUIRE);
}

static inline uint32_t cf_seqcount_begin(const struct cf_seqcount *count)
{
	uint32_t sequence = cf_seqcount_peek(count);
	if (CF_UNLIKELY(sequence & 1))
		CF_LOCK_WAIT_UNTIL(!((sequence = cf_seqcount_peek(count)) & 1));
	return sequence;
}

/* True: a writer was there since `begin`; what was read is worth nothing. */
static inline bool cf_seqcount_retry(const struct cf_seqcount *count, uint32_t begin)
{
	/* The data before the second look at the count; pairs with the fence in write_begin: who has read a writer's word
	 * sees its odd count. */
	cf_fence_loads();
	return CF_UNLIKELY(__atomic_load_n(&count->sequence, __ATOMIC_RELAXED) != begin); /* relaxed: the fence orders */
}

static inline void cf_seqcount_write_begin(struct cf_seqcount *count)
{
	/* Relaxed: the fence orders. One writer at a time: no read-modify-write. */
	__atomic_store_n(&count->sequence, __atomic_load_n(&count->sequence, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
	cf_fence_stores(); /* the odd count before the data; pairs with the fence in retry */
}

static inline void cf_seqcount_write_end(struct cf_seqcount *count)
{
	/* Release: the data before the even count; pairs with the acquire load in begin.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	__atomic_store_n(&count->sequence, __atomic_load_n(&count->sequence, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

/* Every reader that is inside starts again, as if a writer had begun and ended. */
static inline void cf_seqcount_invalidate(struct cf_seqcount *count)
{
	cf_seqcount_write_begin(count);
	cf_seqcount_write_end(count);
}

static inline void cf_seqlock_init(struct cf_seqlock *lock)
{
	cf_seqcount_init(&lock->count);
	cf_qspin_init(&lock->lock);
}

static inline uint32_t cf_seqlock_read_begin(const struct cf_seqlock *lock)
{
	return cf_seqcount_begin(&lock->count);
}

static inline bool cf_seqlock_read_retry(const struct cf_seqlock *lock, uint32_t begin)
{
	return cf_seqcount_retry(&lock->count, begin);
}

static inline void cf_seqlock_write_lock(struct cf_seqlock *lock)
{
	cf_qspin_lock(&lock->lock);
	cf_seqcount_write_begin(&lock->count);
}

static inline void cf_seqlock_write_unlock(struct cf_seqlock *lock)
{
	cf_seqcount_write_end(&lock->count);
	cf_qspin_unlock(&lock->lock);
}

CF_EXTERN_END

#endif
