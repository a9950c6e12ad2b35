/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rhash.h: between changes of a hash table (rhash.c) and its resizes (rhash_resize.c): one bucket, its lock and its chain.
 */
#ifndef KIT_SRC_VFS_RHASH_H
#define KIT_SRC_VFS_RHASH_H

#include <corefold/cf_rhash.h>

typedef struct cf_rhash_entry *entry_pointer;

#pragma GCC visibility push(hidden)

/* Its buckets are not set. */
struct cf_rhash_table *cf_rhash_new_table(struct cf_rhash *hash, uint32_t buckets, uint32_t link);
/* Every `step`-th bucket from `first` on. */
void cf_rhash_set_empty(struct cf_rhash_table *table, uint32_t first, uint32_t step);

/* A resize that is under way goes on by a part. In a read section in which `table` was found. */
void cf_rhash_go_on(struct cf_rhash *hash, struct cf_rhash_table *table);
/* All its parts that nobody has claimed. */
void cf_rhash_finish_resize(struct cf_rhash *hash);
/* Waits until `resizing` is the caller's to clear. */
void cf_rhash_exclude_resizes(struct cf_rhash *hash);

/* After an entry with this hash was inserted into a chain that had so many; after one was removed. In a read section. */
void cf_rhash_inserted(struct cf_rhash *hash, struct cf_rhash_table *table, uint32_t value, int length);
void cf_rhash_removed(struct cf_rhash *hash, struct cf_rhash_table *table, uint32_t value);

#pragma GCC visibility pop

static inline uint32_t cf_rhash_size(uint64_t at_least, uint32_t most)
{
	uint64_t size = 1;
	while (size < at_least && size < most)
		size *= 2;
	return (uint32_t)size;
}

/* One bucket. The holder of its lock is the only one who writes its word and its chain. */

// Relaxed: under the lock, where others only fail to take it.
static inline uintptr_t word_of(const struct cf_rhash_table *t, uint32_t bucket)
{
	return __atomic_load_n(cf_rhash_bucket(t, bucket), __ATOMIC_RELAXED);
}

static inline bool try_lock(uintptr_t *bucket)
{
	uintptr_t word = __atomic_load_n(bucket, __ATOMIC_RELAXED); // relaxed: the exchange decides
	// Acquire: after the last holder's release in unlock_bucket.
	return !(word & CF_RHASH_LOCKED) &&
	       __atomic_compare_exchange_n(bucket, &word, word | CF_RHASH_LOCKED, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void lock_bucket(const struct cf_rhash *h, uintptr_t *bucket)
{
	if (!(h->flags & CF_RHASH_EXTERNAL_LOCK))
		CF_LOCK_WAIT_UNTIL(try_lock(bucket));
}

static inline void unlock_bucket(const struct cf_rhash *h, uintptr_t *bucket)
{
	uintptr_t word = __atomic_load_n(bucket, __ATOMIC_RELAXED); // relaxed: only we write
	if (!(h->flags & CF_RHASH_EXTERNAL_LOCK))
		__atomic_store_n(bucket, word & ~(uintptr_t)CF_RHASH_LOCKED, __ATOMIC_RELEASE); // release: pairs with try_lock
}

// What comes first or next in the chain of which the lock is held.
static inline uintptr_t after__(const struct cf_rhash_table *t, uint32_t bucket, entry_pointer before)
{
	// Relaxed: under the lock.
	return before ? __atomic_load_n(&before->next[t->link], __ATOMIC_RELAXED) :
			word_of(t, bucket) & ~(uintptr_t)CF_RHASH_BITS;
}

static inline void link_after__(struct cf_rhash_table *t, uint32_t bucket, entry_pointer before, uintptr_t to)
{
	// Release: what was stored in the entry, its own link included, before readers find it. Entries are added at the head
	// alone: of a link behind another entry x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	if (before)
		__atomic_store_n(&before->next[t->link], to, __ATOMIC_RELEASE);
	else
		__atomic_store_n(cf_rhash_bucket(t, bucket), (word_of(t, bucket) & CF_RHASH_BITS) | to, __ATOMIC_RELEASE);
}

// Always at the head: who is led from another chain into this one by an entry that moved here sees all of the rest.
static inline void push__(struct cf_rhash_table *t, uint32_t bucket, entry_pointer e)
{
	// Release: readers that stand on an entry that is moved follow this link.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&e->next[t->link], after__(t, bucket, NULL), __ATOMIC_RELEASE);
	CF_TEST_POINT("rhash: linking");
	link_after__(t, bucket, NULL, (uintptr_t)e);
	CF_TEST_POINT("rhash: linked");
}

#endif
