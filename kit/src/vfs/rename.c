// SPDX-License-Identifier: MIT OR Apache-2.0
// Names that change and go: move, delete, who is below whom, and the order of directories' locks. Invariants: dentry.h.
#include "dentry.h"

#include <errno.h>
#include <string.h>

// --- Ancestors. Directories change their parent under rename_lock only.

static struct cf_dentry *child_towards(struct cf_dentry *d, struct cf_dentry *ancestor)
{
	for (;;) {
		struct cf_dentry *parent = cf_dentry_parent(d);
		if (parent == ancestor)
			return d;
		if (parent == d)
			return NULL;
		d = parent;
	}
}

bool cf_dentry_below(struct cf_dentry *d, struct cf_dentry *ancestor)
{
	bool below;
	cf_rcu_read_lock();
	below = d == ancestor || (cf_dentry_parent(d) != d && child_towards(d, ancestor));
	cf_rcu_read_unlock();
	return below;
}

// --- The order of locks of a rename.

// A thread that waits for one of the two holds none, so that it is in no circle with those who lock by ancestry.
static void lock_two_files_directories(struct cf_dentry *a, struct cf_dentry *b)
{
	for (;;) {
		struct cf_dentry *first = a;
		cf_vfs_sem_write(&a->inode->sem);
		if (cf_vfs_sem_write_try(&b->inode->sem))
			return;
		cf_vfs_sem_write_done(&a->inode->sem);
		a = b;
		b = first;
		sched_yield();
	}
}

struct cf_dentry *cf_rename_order(struct cf_dentry *a, struct cf_dentry *b, bool directory)
{
	struct cf_dentry *child;
	if (a == b || (CF_VFS_RCU_WALK && !directory))
		return NULL;
	cf_mutex_lock(&a->super->rename_mutex);
	CF_TEST_POINT("rename: ordered");
	child = child_towards(b, a);
	return child ? child : child_towards(a, b);
}

void cf_rename_unorder(struct cf_dentry *a, struct cf_dentry *b, bool directory)
{
	if (a != b && (!CF_VFS_RCU_WALK || directory))
		cf_mutex_unlock(&a->super->rename_mutex);
}

struct cf_dentry *cf_rename_lock(struct cf_dentry *a, struct cf_dentry *b, bool directory)
{
	struct cf_dentry *child = cf_rename_order(a, b, directory);
	if (a == b) {
		cf_vfs_sem_write(&a->inode->sem);
		return NULL;
	}
	if (CF_VFS_RCU_WALK && !directory) {
		lock_two_files_directories(a, b);
		return NULL;
	}
	if (!child || cf_dentry_parent(child) == a) {
		cf_vfs_sem_write(&a->inode->sem);
		cf_vfs_sem_write(&b->inode->sem);
	} else {
		cf_vfs_sem_write(&b->inode->sem);
		cf_vfs_sem_write(&a->inode->sem);
	}
	return child;
}

void cf_rename_unlock(struct cf_dentry *a, struct cf_dentry *b, bool directory)
{
	cf_vfs_sem_write_done(&a->inode->sem);
	if (a == b)
		return;
	cf_vfs_sem_write_done(&b->inode->sem);
	cf_rename_unorder(a, b, directory);
}

// --- Delete.

void cf_dentry_delete(struct cf_dentry *d)
{
	struct cf_inode *inode = NULL;
	struct cf_dentry_locked l;
	cf_dentry_lock(d, &l);
	// Frozen: nobody gets a reference on a dentry whose inode goes.
	if ((d->flags & CF_DENTRY_HASHED) && reference_take_all(&d->count, 1)) {
		CF_TEST_POINT("dentry: frozen");
		inode = d->inode;
		cf_rhash_seq_write_begin(&d->hash);
		cf_rcu_assign(d->inode, NULL);
		// Another may get this name.
		cf_dentry_set_flags__(d, 0, CF_DENTRY_DIRECTORY | CF_DENTRY_REMOVED | CF_DENTRY_POSITIVE);
		cf_rhash_seq_write_end(&d->hash);
		reference_thaw(&d->count);
	} else {
		cf_dentry_unhash__(d);
	}
	cf_dentry_unlock(d, &l);
	if (inode && (d->flags & CF_DENTRY_OP_PUT_INODE))
		d->ops->put_inode(d, inode);
	else
		cf_inode_put(inode);
}

void cf_dentry_goes(struct cf_dentry *directory, bool going)
{
	struct cf_dentry_locked l;
	cf_dentry_lock(directory, &l);
	cf_dentry_set_flags__(directory, going ? CF_DENTRY_GOING : 0, going ? 0 : CF_DENTRY_GOING);
	cf_dentry_unlock(directory, &l);
}

void cf_dentry_await_gone(const struct cf_dentry *directory)
{
	CF_LOCK_WAIT_UNTIL(!(cf_dentry_flags(directory) & CF_DENTRY_GOING));
}

bool cf_dentry_is_removed(const struct cf_dentry *directory)
{
	const struct cf_inode *inode = cf_dentry_inode(directory);
	if (inode && CF_INODE_LOAD(inode, nlink))
		return false;
	cf_dentry_await_gone(directory);
	return true;
}

// --- Move.

static uint32_t place_of(const struct cf_dentry *d)
{
	return cf_dentry_hash_in(d->parent, (uint32_t)(d->name_key >> 32));
}

// Release stores: after the odd sequence number. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
static void swap_names__(struct cf_dentry *a, struct cf_dentry *b, bool exchange)
{
	const char *const long_name = a->long_name;
	struct cf_dentry *const parent = a->parent;
	const uint64_t key = a->name_key;
	for (size_t i = 0; i < sizeof a->name / sizeof *a->name; i++) {
		uint64_t word = a->name[i];
		__atomic_store_n(&a->name[i], b->name[i], __ATOMIC_RELEASE);
		__atomic_store_n(&b->name[i], word, __ATOMIC_RELEASE);
	}
	cf_rcu_assign(a->long_name, b->long_name);
	cf_rcu_assign(b->long_name, long_name);
	// Release, as above; x86 cannot tell, aarch64 and POWER can.
	__atomic_store_n(&a->name_key, b->name_key, __ATOMIC_RELEASE);
	__atomic_store_n(&b->name_key, key, __ATOMIC_RELEASE);
	cf_rcu_assign(a->parent, b->parent);
	if (exchange) // else ".." of what was replaced leads where it did
		cf_rcu_assign(b->parent, parent);
}

// Both are out of the table; their locks are held.
static void swap_places__(struct cf_dentry *a, struct cf_dentry *b, bool exchange)
{
	cf_rhash_seq_write_begin(&a->hash);
	cf_rhash_seq_write_begin(&b->hash);
	swap_names__(a, b, exchange);
	CF_TEST_POINT("move: swapped");
	cf_rhash_seq_write_end(&b->hash);
	cf_rhash_seq_write_end(&a->hash);
}

static void lock_two(struct cf_dentry *a, struct cf_dentry *b, struct cf_lock_node *nodes)
{
	bool swapped = (uintptr_t)a > (uintptr_t)b;
	cf_vfs_lock_take(swapped ? &b->lock : &a->lock, &nodes[swapped]);
	cf_vfs_lock_take(swapped ? &a->lock : &b->lock, &nodes[!swapped]);
}

// The dcache lock is held where there is one.
static void move__(struct cf_dentry *d, struct cf_dentry *target, bool exchange)
{
	struct cf_rhash *names = &d->super->names;
	struct cf_lock_node nodes[2];
	bool hashed = cf_dentry_flags(d) & CF_DENTRY_HASHED;
	cf_dentry_leave(d);
	cf_dentry_leave(target);
	lock_two(d, target, nodes);
	if (!exchange)
		cf_dentry_unhash__(target);
	else
		cf_rhash_remove(names, &target->hash);
	if (hashed)
		cf_rhash_remove(names, &d->hash);
	CF_TEST_POINT("move: out of the table");
	swap_places__(d, target, exchange);
	if (hashed)
		cf_rhash_insert(names, &d->hash, place_of(d));
	if (exchange)
		cf_rhash_insert(names, &target->hash, place_of(target));
	cf_vfs_lock_drop(&target->lock, &nodes[1]);
	cf_vfs_lock_drop(&d->lock, &nodes[0]);
	cf_dentry_join(d);
	cf_dentry_join(target);
}

// Frozen: nobody gets a reference on a dentry whose inode goes. Caller holds both locks.
static bool freeze_two__(struct cf_dentry *a, struct cf_dentry *b)
{
	if (!reference_take_all(&a->count, 1))
		return false;
	if (reference_take_all(&b->count, 1))
		return true;
	reference_thaw(&a->count);
	return false;
}

// Returns the inode that the target had. If it had one, the line that says that there is such a name stays as it is.
static struct cf_inode *move_inode__(struct cf_dentry *d, struct cf_dentry *target)
{
	struct cf_inode *old = target->inode;
	uint32_t *seq = old ? &target->file_seq : &target->hash.seq;
	cf_rhash_seq_write_begin(&d->hash);
	cf_seq_write_begin(seq);
	cf_rcu_assign(target->inode, d->inode);
	if (!old)
		cf_dentry_set_flags__(target, CF_DENTRY_POSITIVE, 0);
	CF_TEST_POINT("move: inode");
	cf_rcu_assign(d->inode, NULL);
	cf_dentry_set_flags__(d, 0, CF_DENTRY_POSITIVE);
	cf_seq_write_end(seq);
	cf_rhash_seq_write_end(&d->hash);
	return old;
}

bool cf_dentry_move_inode(struct cf_dentry *d, struct cf_dentry *target)
{
	const uint32_t others = CF_DENTRY_DIRECTORY | CF_DENTRY_OPS;
	struct cf_lock_node nodes[2];
	struct cf_inode *old = NULL;
	bool moved;
	if (!CF_VFS_RCU_WALK || d == target)
		return false;
	lock_two(d, target, nodes);
	moved = d->flags & target->flags & CF_DENTRY_HASHED && !((d->flags | target->flags) & others) && freeze_two__(d, target);
	if (moved) {
		old = move_inode__(d, target);
		reference_thaw(&d->count);
		reference_thaw(&target->count);
	}
	cf_vfs_lock_drop(&target->lock, &nodes[1]);
	cf_vfs_lock_drop(&d->lock, &nodes[0]);
	cf_inode_put(old);
	return moved;
}

int cf_dentry_move(struct cf_dentry *d, struct cf_dentry *target, bool exchange)
{
	struct cf_super *s = d->super;
	struct cf_lock_node rename_node, node;
	struct cf_dentry *left = d->parent; // stands still: its sem is held
	// What only files do needs no order among all renames. Linux of 2010 took the lock for every rename.
	bool ordered = !CF_VFS_RCU_WALK || ((cf_dentry_flags(d) | (exchange ? cf_dentry_flags(target) : 0)) & CF_DENTRY_DIRECTORY);
	int result = 0;
	if (ordered)
		cf_vfs_lock_take(&s->rename_lock, &rename_node);
	if (cf_dentry_below(target->parent, d) || (exchange && cf_dentry_below(d->parent, target))) {
		result = -EINVAL;
		left = NULL;
	} else {
		if (!exchange && left != target->parent)
			cf_dentry_get(target->parent); // two dentries have it now
		else
			left = NULL;
		cf_dcache_lock(s, &node);
		move__(d, target, exchange);
		cf_dcache_unlock(s, &node);
	}
	if (ordered)
		cf_vfs_lock_drop(&s->rename_lock, &rename_node);
	cf_dentry_put(left);
	return result;
}

// --- Names and paths.

static size_t copy_name(const struct cf_dentry *d, char *buffer)
{
	// Acquire loads: before the sequence is looked at again.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	size_t length = (uint32_t)__atomic_load_n(&d->name_key, __ATOMIC_ACQUIRE);
	const char *text = cf_rcu_dereference(d->long_name);
	uint64_t words[(CF_NAME_INLINE + 1) / 8];
	if (text && length <= strlen(text)) {
		memcpy(buffer, text, length);
		return length;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		words[i] = __atomic_load_n(&d->name[i], __ATOMIC_ACQUIRE);
	length = length <= CF_NAME_INLINE ? length : CF_NAME_INLINE;
	memcpy(buffer, words, length);
	return length;
}

// In a read section; whose directory it is in that the name is of, too.
static size_t name_and_parent(const struct cf_dentry *d, char *buffer, struct cf_dentry **parent)
{
	size_t length;
	uint32_t seq;
	do {
		seq = cf_dentry_seq_begin(d);
		length = copy_name(d, buffer);
		CF_TEST_POINT("path: named");
		*parent = cf_dentry_parent(d);
	} while (cf_dentry_seq_changed(d, seq));
	buffer[length] = '\0';
	return length;
}

size_t cf_dentry_name(const struct cf_dentry *d, char *buffer)
{
	struct cf_dentry *parent;
	size_t length;
	cf_rcu_read_lock();
	length = name_and_parent(d, buffer, &parent);
	cf_rcu_read_unlock();
	return length;
}

// Puts "/name" before *at, and goes up; false: no room.
static bool prepend(struct cf_dentry **d, char *buffer, char **at)
{
	char name[CF_NAME_MOST + 1];
	size_t length = name_and_parent(*d, name, d);
	if ((size_t)(*at - buffer) < length + 1)
		return false;
	*at -= length;
	memcpy(*at, name, length);
	*--*at = '/';
	return true;
}

char *cf_dentry_path(struct cf_dentry *d, struct cf_dentry *root, char *buffer, size_t size, int *error)
{
	struct cf_lock_node node;
	struct cf_super *s = d->super;
	char *at = buffer + size - 1;
	*error = size < 2 ? -ENAMETOOLONG : 0;
	cf_vfs_lock_take(&s->rename_lock, &node); // no directory moves
	cf_rcu_read_lock();
	while (!*error && d != root && cf_dentry_parent(d) != d) {
		if (!(cf_dentry_flags(d) & CF_DENTRY_HASHED))
			*error = -ENOENT;
		else if (!prepend(&d, buffer, &at))
			*error = -ENAMETOOLONG;
	}
	cf_rcu_read_unlock();
	cf_vfs_lock_drop(&s->rename_lock, &node);
	if (*error)
		return NULL;
	buffer[size - 1] = '\0';
	if (at == buffer + size - 1)
		*--at = '/';
	return at;
}
