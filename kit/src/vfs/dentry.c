// SPDX-License-Identifier: MIT OR Apache-2.0
// A dentry from its allocation to its end. The invariants are in dentry.h.
#include "dentry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Eight bytes at a time, of which the last may be fewer.
uint32_t cf_name_hash(const char *bytes, size_t length)
{
	uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15), word;
	for (; length >= 8; length -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, length);
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

void cf_dentry_key_of(struct cf_dentry_key *key, const struct cf_dentry *parent, const struct cf_name *name)
{
	key->parent = parent;
	key->name = name;
	key->name_key = cf_name_key(name);
	memset(key->words, 0, sizeof key->words);
	if (name->length <= CF_NAME_INLINE)
		memcpy(key->words, name->bytes, name->length);
}

// Acquire loads: before the sequence is looked at again.
// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
static bool same_name(const struct cf_dentry *d, const struct cf_dentry_key *key)
{
	const char *text;
	if (__atomic_load_n(&d->name_key, __ATOMIC_ACQUIRE) != key->name_key)
		return false;
	if (key->name->length > CF_NAME_INLINE) {
		text = cf_rcu_dereference(d->long_name);
		return text && memcmp(text, key->name->bytes, key->name->length) == 0;
	}
	for (size_t i = 0; i <= key->name->length / 8; i++)
		if (__atomic_load_n(&d->name[i], __ATOMIC_ACQUIRE) != key->words[i])
			return false;
	return true;
}

// By the file system's own rule, on a copy, since the name may change meanwhile.
static bool same_by_rule(const struct cf_dentry *d, const struct cf_dentry_key *key)
{
	bool (*same)(const struct cf_dentry *, const char *, size_t, const struct cf_name *) = CF_DENTRY_OP(key->parent, same);
	char copy[CF_NAME_MOST + 1];
	size_t length = cf_dentry_name(d, copy);
	return same ? same(key->parent, copy, length, key->name) : same_name(d, key);
}

bool cf_dentry_same(const struct cf_rhash_entry *entry, const void *argument)
{
	const struct cf_dentry *d = DENTRY_OF(entry, hash);
	struct cf_dentry_key *key = (struct cf_dentry_key *)(uintptr_t)argument;
	key->seq = cf_rhash_seq_begin(entry);
	if (cf_dentry_parent(d) != key->parent || !(cf_dentry_flags(d) & CF_DENTRY_HASHED))
		return false;
	return cf_dentry_flags(key->parent) & CF_DENTRY_OP_SAME ? same_by_rule(d, key) : same_name(d, key);
}

void cf_dentry_set_flags__(struct cf_dentry *d, uint32_t set, uint32_t clear)
{
	// Sequentially consistent: invariant B. An exchange: in the lab a store is seen late.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	__atomic_exchange_n(&d->flags, (d->flags & ~clear) | set, __ATOMIC_SEQ_CST);
}

static void set_ops__(struct cf_dentry *d, const struct cf_dentry_ops *ops)
{
	uint32_t has = 0;
	if (ops) {
		has |= ops->revalidate ? CF_DENTRY_OP_REVALIDATE : 0;
		has |= ops->hash ? CF_DENTRY_OP_HASH : 0;
		has |= ops->same ? CF_DENTRY_OP_SAME : 0;
		has |= ops->discard ? CF_DENTRY_OP_DISCARD : 0;
		has |= ops->put_inode ? CF_DENTRY_OP_PUT_INODE : 0;
	}
	// Flags say which pointers are not null: gone before the table changes, set after it (CF_DENTRY_OP).
	cf_dentry_set_flags__(d, 0, CF_DENTRY_OPS);
	CF_TEST_POINT("dentry: between tables");
	cf_rcu_assign(d->ops, ops);
	cf_dentry_set_flags__(d, has, 0);
}

void cf_dentry_set_ops(struct cf_dentry *d, const struct cf_dentry_ops *ops)
{
	struct cf_dentry_locked l;
	cf_dentry_lock(d, &l);
	set_ops__(d, ops);
	cf_dentry_unlock(d, &l);
}

// --- What the cache is charged: invariant A.

static bool charge__(struct cf_dentry *d)
{
	const struct cf_super_ops *ops = d->super->ops;
	uint32_t length = (uint32_t)d->name_key;
	if (!ops || !ops->charge)
		return true;
	d->lru.own = (uint32_t)sizeof *d + (length > CF_NAME_INLINE ? length + 1 : 0);
	return ops->charge(d->super, d->lru.own) >= 0;
}

void cf_dentry_uncharge__(struct cf_dentry *d)
{
	if (d->super->ops && d->super->ops->charge)
		(void)d->super->ops->charge(d->super, -(int64_t)d->lru.own);
}

// It is on none. False: its charge was refused.
static bool list__(struct cf_dentry *d)
{
	if (!charge__(d))
		return false;
	cf_lru_add(&d->super->unused, &d->lru);
	return true;
}

static bool set_name(struct cf_dentry *d, const struct cf_name *name)
{
	char *text;
	d->name_key = cf_name_key(name);
	if (name->length <= CF_NAME_INLINE) {
		memcpy(d->name, name->bytes, name->length);
		return true;
	}
	text = malloc(name->length + 1);
	if (!text)
		return false;
	memcpy(text, name->bytes, name->length);
	text[name->length] = '\0';
	d->long_name = text;
	return true;
}

static struct cf_dentry *allocate(struct cf_super *super, const struct cf_name *name)
{
	struct cf_dentry *d = cf_slab_alloc(&super->memory);
	if (!d)
		return NULL;
	*d = (struct cf_dentry){ .super = super, .count = 1 };
	if (set_name(d, name))
		return d;
	cf_slab_free(&super->memory, d);
	return NULL;
}

static void lock_children(struct cf_dentry *parent, struct cf_lock_node *node)
{
	if (CF_VFS_DENTRIES_SPLIT)
		cf_vfs_lock_take(&parent->lock, node);
}

static void unlock_children(struct cf_dentry *parent, struct cf_lock_node *node)
{
	if (CF_VFS_DENTRIES_SPLIT)
		cf_vfs_lock_drop(&parent->lock, node);
}

// Children are listed as Linux does; nobody looks for them there, so the scaled form does without.
void cf_dentry_join(struct cf_dentry *d)
{
	struct cf_dentry *parent = d->parent;
	struct cf_lock_node node;
	if (CF_VFS_RCU_WALK)
		return;
	lock_children(parent, &node);
	d->next_sibling = parent->children;
	d->sibling_link = &parent->children;
	if (d->next_sibling)
		d->next_sibling->sibling_link = &d->next_sibling;
	parent->children = d;
	unlock_children(parent, &node);
}

void cf_dentry_leave(struct cf_dentry *d)
{
	struct cf_dentry *parent = d->parent;
	struct cf_lock_node node;
	if (CF_VFS_RCU_WALK)
		return;
	lock_children(parent, &node);
	*d->sibling_link = d->next_sibling;
	if (d->next_sibling)
		d->next_sibling->sibling_link = d->sibling_link;
	unlock_children(parent, &node);
}

// Without a parent: the root, and what no path leads to. Takes over a reference on the parent.
static struct cf_dentry *new_dentry(struct cf_super *super, struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_dentry *d = allocate(super, name);
	if (!d)
		return NULL;
	d->salt = (uint32_t)cf_numbers_take(&super->salts);
	cf_vfs_lock_init(&d->lock);
	d->parent = parent ? parent : d;
	if (super->dentry_ops)
		set_ops__(d, super->dentry_ops);
	if (parent) {
		struct cf_lock_node node;
		cf_dcache_lock(super, &node);
		cf_dentry_join(d);
		cf_dcache_unlock(super, &node);
	}
	cf_vfs_count_add(&super->dentries, 1);
	return d;
}

struct cf_dentry *cf_dentry_alloc_given(struct cf_dentry *parent, const struct cf_name *name)
{
	return new_dentry(parent->super, parent, name);
}

struct cf_dentry *cf_dentry_alloc(struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_dentry *d;
	cf_dentry_get(parent);
	d = cf_dentry_alloc_given(parent, name);
	if (!d)
		cf_dentry_put(parent);
	return d;
}

struct cf_dentry *cf_dentry_pseudo(struct cf_super *super, struct cf_inode *inode)
{
	const struct cf_name name = cf_name_of("", 0);
	struct cf_dentry *d = CF_VFS_DENTRIES_SPLIT ? new_dentry(super, NULL, &name) : cf_dentry_alloc(super->root, &name);
	if (!d)
		return NULL;
	cf_inode_get(inode);
	cf_dentry_instantiate(d, inode);
	return d;
}

int cf_super_set_root(struct cf_super *super, struct cf_inode *inode)
{
	const struct cf_name name = cf_name_of("", 0);
	super->root = new_dentry(super, NULL, &name);
	if (!super->root)
		return -ENOMEM;
	cf_dentry_set_flags__(super->root, CF_DENTRY_ROOT, 0);
	cf_dentry_instantiate(super->root, inode);
	return 0;
}

static uint32_t type_of(const struct cf_inode *inode)
{
	uint32_t mode = inode ? CF_INODE_LOAD(inode, mode) : 0;
	return (S_ISDIR(mode) ? CF_DENTRY_DIRECTORY : 0) | (inode ? CF_DENTRY_POSITIVE : 0);
}

void cf_dentry_instantiate(struct cf_dentry *d, struct cf_inode *inode)
{
	struct cf_dentry_locked l;
	cf_dentry_lock(d, &l);
	cf_rhash_seq_write_begin(&d->hash);
	cf_rcu_assign(d->inode, inode);
	cf_dentry_set_flags__(d, type_of(inode), CF_DENTRY_DIRECTORY | CF_DENTRY_LOOKUP | CF_DENTRY_POSITIVE);
	cf_rhash_seq_write_end(&d->hash);
	cf_dentry_unlock(d, &l);
}

void cf_dentry_add(struct cf_dentry *d, struct cf_inode *inode)
{
	struct cf_dentry_locked l;
	cf_dentry_instantiate(d, inode);
	cf_dentry_lock(d, &l);
	cf_dentry_set_flags__(d, CF_DENTRY_HASHED, 0);
	cf_rhash_insert(&d->super->names, &d->hash, cf_dentry_hash_in(d->parent, (uint32_t)(d->name_key >> 32)));
	cf_dentry_unlock(d, &l);
}

void cf_dentry_unhash__(struct cf_dentry *d)
{
	if (!(d->flags & CF_DENTRY_HASHED))
		return;
	cf_rhash_seq_write_begin(&d->hash);
	cf_dentry_set_flags__(d, 0, CF_DENTRY_HASHED);
	cf_rhash_seq_write_end(&d->hash);
	cf_rhash_remove(&d->super->names, &d->hash);
}

void cf_dentry_drop(struct cf_dentry *d)
{
	struct cf_dentry_locked l;
	cf_dentry_lock(d, &l);
	cf_dentry_unhash__(d);
	cf_dentry_unlock(d, &l);
}

bool cf_dentry_grab(struct cf_dentry *d)
{
	return reference_grab(&d->count);
}

struct cf_dentry *cf_dentry_grab_at(struct cf_dentry *const *pointer)
{
	struct cf_dentry *d;
	cf_rcu_read_lock();
	for (;;) {
		d = cf_rcu_dereference(*pointer);
		CF_TEST_POINT("dentry: pointed at");
		if (!cf_dentry_grab(d))
			continue;
		if (d == cf_rcu_dereference(*pointer))
			break;
		cf_dentry_put(d);
	}
	cf_rcu_read_unlock();
	return d;
}

struct cf_inode *cf_dentry_inode_at(struct cf_dentry *const *pointer)
{
	for (;;) {
		struct cf_dentry *d = cf_rcu_dereference(*pointer);
		struct cf_inode *inode;
		CF_TEST_POINT("dentry: inode of what is pointed at");
		inode = cf_dentry_inode(d);
		if (inode && d == cf_rcu_dereference(*pointer))
			return inode;
	}
}

// --- The end.

bool cf_dentry_kill__(struct cf_dentry *d)
{
	if (!reference_take_all(&d->count, 0))
		return false;
	cf_dentry_unhash__(d);
	cf_dentry_set_flags__(d, CF_DENTRY_DEAD, 0);
	return true;
}

static void release(struct cf_rcu_head *head)
{
	struct cf_dentry *d = DENTRY_OF(head, rcu);
	free((char *)(uintptr_t)d->long_name);
	cf_slab_free(&d->super->memory, d);
}

static void put_inode(struct cf_dentry *d, struct cf_inode *inode)
{
	if (inode && (d->flags & CF_DENTRY_OP_PUT_INODE))
		d->ops->put_inode(d, inode);
	else if (inode)
		cf_inode_put(inode);
}

struct cf_dentry *cf_dentry_finish(struct cf_dentry *d)
{
	struct cf_dentry *parent = d->parent == d ? NULL : d->parent; // stands: nobody moves a dead one
	struct cf_lock_node node;
	if (parent) {
		cf_dcache_lock(d->super, &node);
		cf_dentry_leave(d);
		cf_dcache_unlock(d->super, &node);
	}
	put_inode(d, d->inode);
	cf_vfs_count_add(&d->super->dentries, -1);
	cf_rcu_call(&d->rcu, release);
	return parent;
}

// In a removed directory nothing is: it would keep the directory. Sequentially consistent: invariant B, and after the count
// (cf_dentry_drop_names).
static bool worth_keeping(const struct cf_dentry *d)
{
	const struct cf_dentry *directory = cf_dentry_parent(d);
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	return (__atomic_load_n(&d->flags, __ATOMIC_SEQ_CST) & CF_DENTRY_HASHED) &&
	       !(__atomic_load_n(&directory->flags, __ATOMIC_SEQ_CST) & CF_DENTRY_REMOVED);
}

// On the LRU, and marked as used. False: its charge was refused, or its directory was removed meanwhile.
static bool keep__(struct cf_dentry *d)
{
	bool listed = cf_lru_listed(&d->lru);
	CF_TEST_POINT("dentry: to be listed");
	if (!listed && !list__(d))
		return false;
	// A full barrier between the list's count and the look at REMOVED, also when it is marked already: pairs with
	// cf_dentry_drop_names, which sets REMOVED and then looks at the lists. Without it both could miss the other, and the name
	// would keep the directory. Of a name that is marked already tests cannot tell: the list's line is this CPU's own, so x86
	// keeps its count in the store buffer for a few cycles, and 60,000 rounds of both at once never met them; weaker machines may.
	if (!listed || !(d->flags & CF_DENTRY_REFERENCED))
		cf_dentry_set_flags__(d, CF_DENTRY_REFERENCED, 0);
	return worth_keeping(d);
}

// The count was 0 a moment ago; the lock is held. True: the caller finishes it.
static bool unused__(struct cf_dentry *d)
{
	if (reference_count(&d->count))
		return false;
	if (!worth_keeping(d) || ((d->flags & CF_DENTRY_OP_DISCARD) && d->ops->discard(d)) || !keep__(d)) {
		if (!cf_dentry_kill__(d)) // a reader has just taken a reference: its put comes here again
			return false;
		if (cf_lru_remove(&d->super->unused, &d->lru))
			cf_dentry_uncharge__(d);
		return true;
	}
	CF_TEST_POINT("dentry: kept");
	return false;
}

// False: it was the last, and it is not in the table, on the LRU, and marked as used, as most are.
static bool put_without_lock(struct cf_dentry *d)
{
	if (!reference_put(&d->count))
		return true;
	CF_TEST_POINT("dentry: put");
	return (cf_dentry_flags(d) & (CF_DENTRY_REFERENCED | CF_DENTRY_OP_DISCARD)) == CF_DENTRY_REFERENCED && worth_keeping(d) &&
	       cf_lru_listed(&d->lru); // invariant B
}

// In the read section that its caller began. Null, or the parent, whose reference is to be put next.
static struct cf_dentry *put_locked(struct cf_dentry *d)
{
	struct cf_dentry_locked l;
	bool dead;
	cf_dentry_lock(d, &l);
	if (!CF_VFS_RCU_WALK)
		(void)reference_put(&d->count);
	dead = unused__(d);
	cf_dentry_unlock(d, &l);
	cf_rcu_read_unlock();
	return dead ? cf_dentry_finish(d) : NULL;
}

// 2.6.35 and the first steps put the last reference under the lock.
void cf_dentry_put(struct cf_dentry *d)
{
	while (d && (CF_VFS_RCU_WALK || !reference_put_not_last(&d->count))) {
		cf_rcu_read_lock(); // from count 0 on only this keeps the memory
		if (CF_VFS_RCU_WALK && put_without_lock(d)) {
			cf_rcu_read_unlock();
			return;
		}
		d = put_locked(d);
	}
}
