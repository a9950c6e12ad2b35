/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * dentry.h: what the files of the name cache share.
 * Invariants, with dentry->lock (policies without split dentries: the dcache lock, too) held:
 *   A. A dentry with count 0 that is not dead is hashed and on the LRU. What is on the LRU is charged (cf_super_ops.charge),
 *      and nothing else is: lru.own says how much.
 *   B. Who puts the last reference without the lock looks afterwards whether the dentry is hashed and on the LRU; who takes
 *      it off the LRU looks afterwards at the count. Both are sequentially consistent: one sees the other.
 *   C. A dentry without HASHED is not found: readers see the flag change by its sequence count, and it leaves the table.
 *   D. Parent and name of a hashed dentry change only while it is out of its chain, so they stand under a bucket's lock.
 */
#ifndef CF_VFS_DENTRY_H
#define CF_VFS_DENTRY_H

#include "reference.h"
#include <corefold/cf_dcache.h>

#define DENTRY_OF(pointer, member) ((struct cf_dentry *)(void *)((char *)(pointer) - offsetof(struct cf_dentry, member)))

/* What a dentry is found by. `seq`: of the one that was found, from before it was compared. */
struct cf_dentry_key {
	const struct cf_dentry *parent;
	const struct cf_name *name;
	uint64_t name_key;
	uint64_t words[(CF_NAME_INLINE + 1) / 8]; /* the name, if it is short, with zeroes behind it */
	uint32_t seq;
};

static inline uint64_t cf_name_key(const struct cf_name *name)
{
	return (uint64_t)name->hash << 32 | name->length;
}

static inline uint32_t cf_dentry_hash_in(const struct cf_dentry *parent, uint32_t name_hash)
{
	return (uint32_t)(((name_hash ^ (uint64_t)parent->salt << 21) * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

void cf_dentry_key_of(struct cf_dentry_key *key, const struct cf_dentry *parent, const struct cf_name *name);
/* For readers, with the sequence; key is a struct cf_dentry_key. */
bool cf_dentry_same(const struct cf_rhash_entry *entry, const void *key);

static inline struct cf_dentry *cf_dentry_search(struct cf_dentry_key *key)
{
	struct cf_rhash_entry *e = cf_rhash_find(&key->parent->super->names,
						 cf_dentry_hash_in(key->parent, key->name->hash), cf_dentry_same, key);
	return e ? DENTRY_OF(e, hash) : NULL;
}

/* dentry->lock, and the dcache lock around it in policies that have one. */
struct cf_dentry_locked {
	struct cf_lock_node outer, inner;
};

static inline void cf_dcache_lock(struct cf_super *super, struct cf_lock_node *node)
{
	if (!CF_VFS_DENTRIES_SPLIT)
		cf_vfs_lock_take(&super->dcache_lock, node);
}

static inline void cf_dcache_unlock(struct cf_super *super, struct cf_lock_node *node)
{
	if (!CF_VFS_DENTRIES_SPLIT)
		cf_vfs_lock_drop(&super->dcache_lock, node);
}

static inline void cf_dentry_lock(struct cf_dentry *d, struct cf_dentry_locked *l)
{
	cf_dcache_lock(d->super, &l->outer);
	cf_vfs_lock_take(&d->lock, &l->inner);
}

static inline void cf_dentry_unlock(struct cf_dentry *d, struct cf_dentry_locked *l)
{
	cf_vfs_lock_drop(&d->lock, &l->inner);
	cf_dcache_unlock(d->super, &l->outer);
}

/*
 * An operation of a dentry whose flags say that it has it, or null: its table may have been replaced since the flags were
 * read.
 */
#define CF_DENTRY_OP(d, operation)                                                                                     \
	__extension__({                                                                                                \
		const struct cf_dentry_ops *ops_ = cf_rcu_dereference((d)->ops);                                       \
		ops_ ? ops_->operation : NULL;                                                                         \
	})

/* cf_dentry_alloc, which takes over the caller's reference on the parent. */
struct cf_dentry *cf_dentry_alloc_given(struct cf_dentry *parent, const struct cf_name *name);
/* cf_dentry_find with the name's own lock held: a new dentry takes over the reference on *parent, which becomes null. */
int cf_dentry_find_given(struct cf_dentry **parent, const struct cf_name *name, struct cf_dentry **dentry);

/* Asks a dentry whose flags say so: 1, 0 or an error, as in cf_dentry_ops. */
static inline int cf_dentry_revalidate(const struct cf_dentry *d, bool may_wait)
{
	int (*revalidate)(struct cf_dentry *, bool) = CF_DENTRY_OP(d, revalidate);
	return revalidate ? revalidate((struct cf_dentry *)(uintptr_t)d, may_wait) : 1;
}

/* The lock is held. */
void cf_dentry_set_flags__(struct cf_dentry *d, uint32_t set, uint32_t clear);
void cf_dentry_unhash__(struct cf_dentry *d);
/* Into and out of its parent's list of children, under the parent's lock, or the dcache lock, which the caller holds. */
void cf_dentry_join(struct cf_dentry *d);
void cf_dentry_leave(struct cf_dentry *d);
/* Count 0 becomes dead, and nobody finds it any more. False: somebody has it. It stays on the LRU if it is there. */
bool cf_dentry_kill__(struct cf_dentry *d);

/* Out of the cache's LRU, which it is on: its charge is given back. */
void cf_dentry_uncharge__(struct cf_dentry *d);

/* What is left to do with one that is dead, with no lock held; returns its parent, whose reference is to be put. */
struct cf_dentry *cf_dentry_finish(struct cf_dentry *d);

#endif
