/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counts of references of objects that are found in read sections. Below 0 nobody gets one: the object is dead, or frozen
 * for a moment by the holder of its lock and of its last reference. Who tries adds to it all the same, which changes nothing:
 * a dead one stays below 0 (2^31 attempts are more than a read section has), and reference_thaw stores.
 */
#ifndef CF_VFS_REFERENCE_H
#define CF_VFS_REFERENCE_H

#include <corefold/cf_shim.h>
#include <stdbool.h>

enum { REFERENCE_NONE = INT32_MIN };

static inline int32_t reference_count(const int32_t *count)
{
	/* Sequentially consistent: pairs with cf_lru_listed (cf_lru.h).
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

/* From `from`, which is all there is, to REFERENCE_NONE: dead or frozen. False: somebody else has one. */
static inline bool reference_take_all(int32_t *count, int32_t from)
{
	/* Sequentially consistent: as above; and what this holder did before what the one who kills does.
	 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
	return __atomic_compare_exchange_n(count, &from, REFERENCE_NONE, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Frozen no more: the holder of the lock has one reference again. */
static inline void reference_thaw(int32_t *count)
{
	/* Sequentially consistent: as above; and what was changed meanwhile before what is done with references that are taken
	 * from now on. An exchange: in the lab a store is seen late.
	 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
	__atomic_exchange_n(count, 1, __ATOMIC_SEQ_CST);
}

static inline bool reference_grab(int32_t *count)
{
	/* Acquire: what was done by who put it.
	 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
	return __atomic_fetch_add(count, 1, __ATOMIC_ACQUIRE) >= 0;
}

/* True: it was the last. In a read section, which from then on alone keeps the memory. */
static inline bool reference_put(int32_t *count)
{
	/* Acquire and release: with all who have put it. Sequentially consistent: pairs with cf_lru_listed.
	 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
	return __atomic_fetch_sub(count, 1, __ATOMIC_SEQ_CST) == 1;
}

/* As Linux of 2010 (atomic_dec_and_lock), whose last put is under the lock. True: put, and it was not the last. */
static inline bool reference_put_not_last(int32_t *count)
{
	int32_t now = __atomic_load_n(count, __ATOMIC_RELAXED); /* relaxed: the exchange decides */
	while (now > 1)
		/* Release: what this holder did before what the one who kills does.
		 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
		if (__atomic_compare_exchange_n(count, &now, now - 1, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	return false;
}

#endif
