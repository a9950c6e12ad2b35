// SPDX-License-Identifier: MIT OR Apache-2.0
// rename. Both names' locks are held, or their directories' sems in the global order (cf_rename_lock); the order of the checks is
// Linux's.
#include "place.h"

enum { NOREPLACE = 1 };
// What is no result of a call.
enum { TRY_AGAIN = 1, NOTHING_KNOWN };

struct rename {
	struct cf_task *task;
	struct cf_walk from, to;
	unsigned flags;
	struct cf_dentry *source, *target; // referenced
};

static bool is_directory(const struct cf_dentry *dentry)
{
	struct cf_inode *inode = cf_dentry_inode(dentry);
	return inode && S_ISDIR(CF_INODE_LOAD(inode, mode));
}

static int check_shape(const struct rename *r, const struct cf_dentry *trap)
{
	if ((r->flags & NOREPLACE) && cf_dentry_inode(r->target))
		return -EEXIST;
	if (r->source == trap)
		return -EINVAL;
	if (!is_directory(r->source) && (r->from.trailing || r->to.trailing))
		return -ENOTDIR;
	return r->target == trap ? -ENOTEMPTY : 0;
}

static int check_permission(const struct rename *r)
{
	struct cf_inode *from = cf_dentry_inode(r->from.dentry), *to = cf_dentry_inode(r->to.dentry);
	struct cf_inode *source = cf_dentry_inode(r->source), *target = cf_dentry_inode(r->target);
	bool directory = is_directory(r->source);
	int error = cf_vfs_may_delete(r->task, from, source, directory);
	if (!error)
		error = target ? cf_vfs_may_delete(r->task, to, target, directory) : cf_vfs_may_create(r->task, r->to.dentry, to);
	if (!error && directory && from != to)
		error = cf_inode_permission(source, CF_MAY_WRITE, &r->task->cred, true);
	return error;
}

static int move(const struct rename *r)
{
	struct cf_inode *from = cf_dentry_inode(r->from.dentry), *to = cf_dentry_inode(r->to.dentry);
	struct cf_inode *source = cf_dentry_inode(r->source), *target = cf_dentry_inode(r->target);
	bool replaces_directory = is_directory(r->target);
	int error;
	if (source == target)
		return 0;
	error = check_permission(r);
	if (error)
		return error;
	if (replaces_directory)
		cf_dentry_goes(r->target, true);
	error = from->ops->rename(from, &r->from.last, source, to, &r->to.last, target, r->flags);
	CF_TEST_POINT("rename: names are left");
	if (!error && replaces_directory)
		cf_dentry_drop_names(r->target);
	if (!error && !cf_dentry_move_inode(r->source, r->target))
		error = cf_dentry_move(r->source, r->target, false);
	if (replaces_directory)
		cf_dentry_goes(r->target, false);
	return error;
}

// --- By the names' directories.

static int find_and_move(struct rename *r, bool locked_for_directory, const struct cf_dentry *trap)
{
	int error = cf_dentry_find(r->from.dentry, &r->from.last, true, &r->source);
	if (error)
		return error;
	if (!cf_dentry_inode(r->source))
		return -ENOENT;
	if (is_directory(r->source) && !locked_for_directory)
		return TRY_AGAIN;
	error = cf_dentry_find(r->to.dentry, &r->to.last, true, &r->target);
	if (!error && is_directory(r->target) && !locked_for_directory)
		error = TRY_AGAIN; // it may be above the source
	if (!error)
		error = check_shape(r, trap);
	return error ? error : move(r);
}

static bool looks_like_directory(const struct rename *r)
{
	struct cf_dentry *source;
	bool directory;
	if (cf_dentry_find(r->from.dentry, &r->from.last, false, &source))
		return false;
	directory = is_directory(source);
	cf_dentry_put(source);
	return directory;
}

struct locked {
	struct cf_dentry *trap;     // neither source nor target may be this
	struct cf_mutex *names[2];
	bool by_names;
};

static void lock(const struct rename *r, bool directory, struct locked *l)
{
	struct cf_dentry *from = r->from.dentry, *to = r->to.dentry;
	l->by_names = cf_place_has_locks(from) && cf_place_has_locks(to);
	l->trap = l->by_names ? cf_rename_order(from, to, directory) : cf_rename_lock(from, to, directory);
	if (l->by_names)
		cf_place_lock_names(from, &r->from.last, to, &r->to.last, l->names);
}

static void unlock(const struct rename *r, bool directory, struct locked *l)
{
	struct cf_dentry *from = r->from.dentry, *to = r->to.dentry;
	if (!l->by_names) {
		cf_rename_unlock(from, to, directory);
		return;
	}
	cf_place_unlock_names(l->names);
	cf_rename_unorder(from, to, directory);
}

static int rename_walked(struct rename *r)
{
	bool directory;
	int error;
	if (r->from.last_type != CF_LAST_NORMAL)
		return -EBUSY;
	if (r->to.last_type != CF_LAST_NORMAL)
		return r->flags & NOREPLACE ? -EEXIST : -EBUSY;
	directory = looks_like_directory(r);
	do {
		struct locked locked;
		r->source = r->target = NULL;
		lock(r, directory, &locked);
		error = find_and_move(r, directory, locked.trap);
		unlock(r, directory, &locked);
		cf_dentry_put(r->target);
		cf_dentry_put(r->source);
		directory = true;
	} while (error == TRY_AGAIN);
	return error;
}

// --- By the names' own dentries: neither is a directory, and no directory is locked or referenced.

static int move_files(struct rename *r, const struct cf_place *from, const struct cf_place *to)
{
	if (!cf_dentry_inode(from->child))
		return -ENOENT;
	if (is_directory(from->child) || is_directory(to->child))
		return TRY_AGAIN;
	r->source = from->child;
	r->target = to->child;
	r->from = (struct cf_walk){ .dentry = from->parent, .last = from->name };
	r->to = (struct cf_walk){ .dentry = to->parent, .last = to->name };
	return (r->flags & NOREPLACE) && cf_dentry_inode(to->child) ? -EEXIST : move(r);
}

// TRY_AGAIN: by their directories.
static int rename_files(struct rename *r, int from_dir, const char *from, int to_dir, const char *to)
{
	struct cf_place source, target = { .child = NULL };
	int error = TRY_AGAIN;
	cf_rcu_read_lock(); // also: the name that leaves a directory was what kept it, and its lock
	if (cf_place_find(r->task, from_dir, from, &source) && cf_place_find(r->task, to_dir, to, &target) &&
	    cf_place_lock_two(&source, &target)) {
		error = move_files(r, &source, &target);
		cf_place_unlock_two(&source, &target);
	}
	cf_rcu_read_unlock();
	cf_dentry_put(target.child);
	cf_dentry_put(source.child);
	return error;
}

// Both names are one file's, at the moment at which the target's is looked at.
static bool is_one_file(const struct cf_vfs_peek *source, const struct cf_vfs_peek *target)
{
	uint32_t seq = cf_dentry_file_seq_begin(source->dentry);
	struct cf_inode *inode = cf_dentry_inode(source->dentry);
	CF_TEST_POINT("rename: one file");
	return inode && cf_dentry_inode(target->dentry) == inode && !cf_dentry_seq_changed(target->dentry, target->seq) &&
	       !cf_dentry_file_seq_changed(source->dentry, seq);
}

// What is known at one moment, without a lock: that there is nothing to rename (-ENOENT), that both names are one file's (0), or
// that the source is a directory (TRY_AGAIN).
static int known_result(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	struct cf_vfs_peek source, target;
	enum cf_vfs_known known;
	int result = NOTHING_KNOWN;
	cf_rcu_read_lock();
	known = cf_vfs_peek(task, from_dir, from, &source);
	if (known == CF_KNOWN_ABSENT && cf_vfs_knows_directory(task, to_dir, to))
		result = -ENOENT;
	else if (known == CF_KNOWN_PRESENT && !flags && !source.trailing &&
		 cf_vfs_peek(task, to_dir, to, &target) == CF_KNOWN_PRESENT && !target.trailing && is_one_file(&source, &target))
		result = 0;
	else if (known == CF_KNOWN_PRESENT && is_directory(source.dentry))
		result = TRY_AGAIN;
	if (known != CF_KNOWN_NOT && cf_dentry_seq_changed(source.dentry, source.seq)) // at the moment of the second look
		result = NOTHING_KNOWN;
	cf_rcu_read_unlock();
	return result;
}

int cf_vfs_renameat(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	struct rename r = { .task = task, .flags = flags };
	int error = flags & ~(unsigned)NOREPLACE ? -EINVAL : known_result(task, from_dir, from, to_dir, to, flags);
	if (error == NOTHING_KNOWN)
		error = rename_files(&r, from_dir, from, to_dir, to);
	if (error != TRY_AGAIN) {
		cf_vfs_relax(task->vfs);
		return error;
	}
	error = cf_vfs_walk(task, from_dir, from, CF_WALK_PARENT, &r.from);
	if (error)
		return error;
	error = cf_vfs_walk(task, to_dir, to, CF_WALK_PARENT, &r.to);
	if (!error) {
		error = rename_walked(&r);
		cf_dentry_put(r.to.dentry);
	}
	cf_dentry_put(r.from.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}
