// SPDX-License-Identifier: MIT OR Apache-2.0
// From a name to a dentry: in the cache, or by asking the backend, once for all who want to know.
#include "dentry.h"

#include <errno.h>

// A reference on what was found, if it is still what was looked for.
static bool confirm(struct cf_dentry *d, struct cf_dentry_key *key)
{
#if CF_VFS_RCU_WALK
	if (!cf_dentry_grab(d))
		return false;
	CF_TEST_POINT("lookup: grabbed");
	if (!cf_dentry_seq_changed(d, key->seq))
		return true;
	cf_rcu_read_unlock();
	cf_dentry_put(d);
	cf_rcu_read_lock();
	return false;
#else
	struct cf_lock_node node;
	bool right;
	cf_vfs_lock_take(&d->lock, &node);
	right = cf_dentry_same(&d->hash, key) && cf_dentry_grab(d);
	cf_vfs_lock_drop(&d->lock, &node);
	return right;
#endif
}

// As cached, perhaps still being looked up. A dead or changed one counts as none: who misses asks under the directory's sem.
static struct cf_dentry *lookup(struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_dentry_key key;
	struct cf_dentry *d;
	cf_dentry_key_of(&key, parent, name);
	cf_rcu_read_lock();
	d = cf_dentry_search(&key);
	if (d && !confirm(d, &key))
		d = NULL;
	cf_rcu_read_unlock();
	return d;
}

struct cf_dentry *cf_dentry_lookup(struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_dentry *d;
	while ((d = lookup(parent, name)) != NULL) {
		CF_LOCK_WAIT_UNTIL(!(cf_dentry_flags(d) & CF_DENTRY_LOOKUP));
		if (cf_dentry_flags(d) & CF_DENTRY_HASHED)
			return d;
		cf_dentry_put(d); // the backend had no answer: ask again
	}
	return NULL;
}

// The directory's sem is held: nobody else adds this name but lookups, which meet at the table.
static int ask__(struct cf_dentry *fresh, struct cf_inode *directory, const struct cf_name *name)
{
	struct cf_inode *inode = NULL;
	int result = directory->ops->lookup(directory, name, &inode);
	if (result)
		cf_dentry_drop(fresh);
	CF_TEST_POINT("lookup: answered");
	cf_dentry_instantiate(fresh, inode); // ends the waiting, too
	return result;
}

// 1: somebody else has just added it.
static int add_and_ask__(struct cf_dentry *fresh, struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_inode *directory = parent->inode;
	struct cf_dentry_key key;
	struct cf_rhash_entry *there;
	struct cf_lock_node node;
	if (cf_dentry_is_removed(parent))
		return -ENOENT; // nothing can be in it
	cf_dentry_key_of(&key, parent, name);
	fresh->flags |= CF_DENTRY_HASHED | CF_DENTRY_LOOKUP; // nobody else has it yet
	cf_dcache_lock(parent->super, &node);
	there = cf_rhash_insert_unique(&parent->super->names, &fresh->hash, cf_dentry_hash_in(parent, name->hash),
				       cf_dentry_same, &key);
	cf_dcache_unlock(parent->super, &node);
	if (there) {
		fresh->flags &= ~(uint32_t)(CF_DENTRY_HASHED | CF_DENTRY_LOOKUP);
		return 1;
	}
	return ask__(fresh, directory, name);
}

// Under the name's lock, or with the sem shared.
static int ask_locked(struct cf_dentry *fresh, struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_inode *dir = parent->inode;
	struct cf_mutex *lock = dir->ops->name_lock ? dir->ops->name_lock(dir, name) : NULL;
	int result;
	if (lock)
		(void)cf_mutex_lock(lock); // cannot fail: the caller has none
	else
		cf_vfs_sem_read(&dir->sem);
	result = add_and_ask__(fresh, parent, name);
	if (lock)
		cf_mutex_unlock(lock);
	else
		cf_vfs_sem_read_done(&dir->sem);
	return result;
}

// The new dentry takes over the caller's reference on its parent, *given, which becomes null; a null pointer: it takes its own.
static int miss(struct cf_dentry *parent, const struct cf_name *name, bool locked, struct cf_dentry **given,
		struct cf_dentry **dentry)
{
	struct cf_dentry *fresh = given ? cf_dentry_alloc_given(parent, name) : cf_dentry_alloc(parent, name);
	int result;
	if (!fresh)
		return -ENOMEM;
	CF_TEST_POINT("lookup: missed");
	if (locked)
		result = add_and_ask__(fresh, parent, name);
	else
		result = ask_locked(fresh, parent, name);
	if (!result) {
		*dentry = fresh;
		if (given)
			*given = NULL;
		return 0;
	}
	if (given)
		cf_dentry_get(parent); // what was given goes with the new dentry
	cf_dentry_put(fresh);
	return result;
}

// Names of this directory may hash by a rule of their own.
static struct cf_name by_rule(const struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_name own = *name;
	uint32_t (*hash)(const struct cf_dentry *, const char *, size_t) = NULL;
	if (cf_dentry_flags(parent) & CF_DENTRY_OP_HASH)
		hash = CF_DENTRY_OP(parent, hash);
	if (hash)
		own.hash = hash(parent, name->bytes, name->length);
	return own;
}

static int find(struct cf_dentry *parent, const struct cf_name *name, bool locked, struct cf_dentry **given,
		struct cf_dentry **dentry)
{
	struct cf_name own = by_rule(parent, name);
	int result = 1;
	while (result > 0) {
		struct cf_dentry *d = cf_dentry_lookup(parent, &own);
		if (!d) {
			result = miss(parent, &own, locked, given, dentry);
		} else if (!(cf_dentry_flags(d) & CF_DENTRY_OP_REVALIDATE) || (result = cf_dentry_revalidate(d, true)) > 0) {
			*dentry = d;
			return 0;
		} else {
			if (result == 0) {
				cf_dentry_drop(d);
				result = 1;
			}
			cf_dentry_put(d);
		}
	}
	return result;
}

int cf_dentry_find(struct cf_dentry *parent, const struct cf_name *name, bool locked, struct cf_dentry **dentry)
{
	return find(parent, name, locked, NULL, dentry);
}

int cf_dentry_find_given(struct cf_dentry **parent, const struct cf_name *name, struct cf_dentry **dentry)
{
	return find(*parent, name, true, parent, dentry);
}
