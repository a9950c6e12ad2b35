// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A name that is about to come, go or change, with its lock. Where names have locks of their own the directory itself is neither
 * locked nor referenced: the name's dentry has a reference on it, and only who has the lock moves that dentry elsewhere. Else the
 * directory's dentry is referenced, and its sem taken.
 */
#include "dentry.h"
#include "place.h"

// In a read section. Null: one lock, the sem, is for all names; or there is no directory any more.
static struct cf_mutex *lock_of(struct cf_inode *dir, const struct cf_name *name)
{
	return CF_VFS_RCU_WALK && dir && dir->ops && dir->ops->name_lock ? dir->ops->name_lock(dir, name) : NULL;
}

bool cf_place_is(struct cf_dentry *child, const struct cf_dentry *parent, const struct cf_name *name)
{
	struct cf_dentry_key key;
	cf_dentry_key_of(&key, parent, name);
	return cf_dentry_same(&child->hash, &key);
}

// In a read section: false: names have no locks there.
static bool look_up_lock(struct cf_place *p)
{
	p->dir = cf_dentry_inode(p->parent);
	p->lock = p->dir ? lock_of(p->dir, &p->name) : NULL;
	CF_TEST_POINT("place: found");
	return p->lock;
}

static enum cf_place_result lock_found(struct cf_place *p)
{
	if (!look_up_lock(p))
		return CF_PLACE_BY_SEM;
	(void)cf_mutex_lock(p->lock); // cannot fail: nobody takes two, but a rename
	CF_TEST_POINT("place: locked");
	if (cf_place_is(p->child, p->parent, &p->name))
		return CF_PLACE_LOCKED;
	cf_mutex_unlock(p->lock);
	return CF_PLACE_MOVED;
}

// Who has found a name without an inode, and has had it since, knows its directory: a name with an inode moves, but then it does
// not lose that while others have it.
enum cf_place_result cf_place_lock_free(struct cf_place *p)
{
	enum cf_place_result result;
	cf_rcu_read_lock(); // until the name is locked, its directory may go
	p->above = NULL;
	p->parent = cf_dentry_parent(p->child);
	result = lock_found(p);
	cf_rcu_read_unlock();
	return result;
}

// Holds one while it waits for none.
static void lock_two(struct cf_mutex *a, struct cf_mutex *b)
{
	for (;;) {
		struct cf_mutex *first = a;
		(void)cf_mutex_lock(a); // cannot fail, as above
		if (a == b || cf_mutex_trylock(b) == 0)
			return;
		cf_mutex_unlock(a);
		a = b;
		b = first;
		sched_yield();
	}
}

static void unlock_two(struct cf_mutex *a, struct cf_mutex *b)
{
	cf_mutex_unlock(a);
	if (a != b)
		cf_mutex_unlock(b);
}

bool cf_place_lock_two(struct cf_place *a, struct cf_place *b)
{
	if (!look_up_lock(a) || !look_up_lock(b))
		return false;
	lock_two(a->lock, b->lock);
	CF_TEST_POINT("place: locked");
	if (cf_place_is(a->child, a->parent, &a->name) && cf_place_is(b->child, b->parent, &b->name))
		return true;
	unlock_two(a->lock, b->lock);
	return false;
}

void cf_place_unlock_two(struct cf_place *a, struct cf_place *b)
{
	unlock_two(a->lock, b->lock);
}

bool cf_place_has_locks(const struct cf_dentry *directory)
{
	return CF_VFS_RCU_WALK && cf_dentry_inode(directory)->ops->name_lock;
}

void cf_place_lock_names(struct cf_dentry *a, const struct cf_name *a_name, struct cf_dentry *b, const struct cf_name *b_name,
			 struct cf_mutex *locks[2])
{
	cf_rcu_read_lock();
	locks[0] = lock_of(cf_dentry_inode(a), a_name);
	locks[1] = lock_of(cf_dentry_inode(b), b_name);
	cf_rcu_read_unlock();
	lock_two(locks[0], locks[1]);
}

void cf_place_unlock_names(struct cf_mutex *locks[2])
{
	unlock_two(locks[0], locks[1]);
}

bool cf_place_find(struct cf_task *task, int fd, const char *path, struct cf_place *p)
{
	struct cf_vfs_peek peek;
	*p = (struct cf_place){ .child = NULL };
	if (!cf_place_has_locks(task->vfs->super.root) || cf_vfs_peek(task, fd, path, &peek) == CF_KNOWN_NOT || peek.trailing ||
	    !cf_dentry_grab(peek.dentry))
		return false;
	p->child = peek.dentry;
	p->parent = peek.directory;
	p->name = peek.name;
	return true; // what it is now, and whose, is looked at under its lock
}

// False: not known, or another name's by now.
static bool begin_by_child(struct cf_task *task, int fd, const char *path, struct cf_place *p)
{
	bool locked;
	cf_rcu_read_lock(); // until the name is locked, its directory may go
	locked = cf_place_find(task, fd, path, p) && lock_found(p) == CF_PLACE_LOCKED;
	cf_rcu_read_unlock();
	if (!locked)
		cf_dentry_put(p->child);
	return locked;
}

// The caller has a reference on the directory.
void cf_place_lock_in(struct cf_place *p)
{
	cf_rcu_read_lock();
	p->lock = lock_of(p->dir, &p->name);
	cf_rcu_read_unlock();
	if (p->lock)
		(void)cf_mutex_lock(p->lock); // cannot fail, as above
	else
		cf_vfs_sem_write(&p->dir->sem);
}

void cf_place_unlock(struct cf_place *p)
{
	if (p->lock) {
		cf_rcu_read_lock(); // who has the lock next may remove the directory, and the lock with it
		cf_mutex_unlock(p->lock);
		cf_rcu_read_unlock();
	} else {
		cf_vfs_sem_write_done(&p->dir->sem);
	}
}

static int begin_by_directory(struct cf_task *task, int fd, const char *path, struct cf_place *p, enum cf_walk_last *type)
{
	struct cf_walk w;
	int error = cf_vfs_walk(task, fd, path, CF_WALK_PARENT, &w);
	if (error)
		return error;
	*p = (struct cf_place){ .above = w.dentry, .parent = w.dentry, .dir = cf_dentry_inode(w.dentry), .name = w.last,
				.trailing = w.trailing };
	*type = w.last_type;
	CF_TEST_POINT("place: walked");
	if (w.last_type == CF_LAST_NORMAL) {
		cf_place_lock_in(p);
		// The sem is the directory's own, which is referenced until it is unlocked.
		error = p->lock ? cf_dentry_find_given(&p->above, &w.last, &p->child) : cf_dentry_find(w.dentry, &w.last, true, &p->child);
		if (!error)
			return 0;
		cf_place_unlock(p);
	}
	cf_dentry_put(w.dentry);
	return error;
}

int cf_place_begin(struct cf_task *task, int fd, const char *path, struct cf_place *p, enum cf_walk_last *type)
{
	*type = CF_LAST_NORMAL;
	return begin_by_child(task, fd, path, p) ? 0 : begin_by_directory(task, fd, path, p, type);
}

void cf_place_end(struct cf_place *p)
{
	cf_place_unlock(p);
	cf_dentry_put(p->child);
	cf_dentry_put(p->above);
}
