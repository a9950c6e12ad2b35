/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counts of references of objects that are found in read sections. Below 0 nobody can get one: the object is dead, or
 * frozen for a moment by the holder of its lock and of its last reference.
 */
#ifndef CF_VFS_REFERENCE_H
#define CF_VFS_REFERENCE_H

#include <corefold/cf_shim.h>
#include <stdbool.h>

enum { REFERENCE_DEAD = -(1 << 30), REFERENCE_FROZEN = -(1 << 29) };

static inline int32_t reference_count(const int32_t *count)
{
	/* Sequentially consistent: pairs with cf_lru_listed (cf_lru.h).
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static inline bool reference_swap(int32_t *count, int32_t from, int32_t to)
{
	/* Sequentially consistent: as above; and what this holder did before what the one who kills does.
	 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
	return __atomic_compare_exchange_n(count, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static inline bool reference_grab(int32_t *count)
{
	int32_t now = __atomic_load_n(count, __ATOMIC_RELAXED); /* relaxed: the exchange decides */
	while (now >= 0)
		/* Acquire: what was done by who put it.
		 * x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can. */
		if (__atomic_compare_exchange_n(count, &now, now + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* True: put, and it was not the last. */
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
