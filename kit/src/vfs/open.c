// SPDX-License-Identifier: MIT OR Apache-2.0
// open. The order of the checks is Linux's.
#include "place.h"

static const int NOT_HERE = O_DIRECT | O_PATH | (O_TMPFILE & ~O_DIRECTORY);

static int may_open(struct cf_task *task, struct cf_inode *inode, int flags)
{
	static const uint32_t masks[] = { CF_MAY_READ, CF_MAY_WRITE, CF_MAY_READ | CF_MAY_WRITE };
	uint32_t mask = masks[flags & O_ACCMODE] | (flags & O_TRUNC ? CF_MAY_WRITE : 0), mode = CF_INODE_LOAD(inode, mode);
	int error;
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if ((flags & O_CREAT) && S_ISDIR(mode))
		return -EISDIR;
	if ((flags & O_DIRECTORY) && !S_ISDIR(mode))
		return -ENOTDIR;
	if (S_ISLNK(mode))
		return -ELOOP;
	if (S_ISDIR(mode) && (mask & CF_MAY_WRITE))
		return -EISDIR;
	error = cf_inode_permission(inode, mask, &task->cred, true);
	if (error)
		return error;
	if ((flags & O_NOATIME) && !cf_cred_owns(&task->cred, inode))
		return -EPERM;
	return inode->file_ops ? 0 : -ENXIO; // sockets
}

// Nothing can be made there: a name that is not cached any more would be looked up for ever.
static bool is_in_removed(const struct cf_dentry *dentry)
{
	bool removed;
	cf_rcu_read_lock();
	removed = cf_dentry_is_removed(cf_dentry_parent(dentry));
	cf_rcu_read_unlock();
	return removed;
}

// The place of a dentry, locked. False: it has been moved.
static bool lock_place(struct cf_dentry *dentry, char *bytes, struct cf_place *place)
{
	*place = (struct cf_place){ .child = dentry, .name = cf_name_of(bytes, cf_dentry_name(dentry, bytes)) };
	switch (cf_place_lock_free(place)) {
	case CF_PLACE_LOCKED: return true;
	case CF_PLACE_MOVED: return false;
	case CF_PLACE_BY_SEM: break;
	}
	place->above = place->parent = cf_dentry_grab_at(&dentry->parent);
	place->dir = cf_dentry_inode(place->parent);
	cf_vfs_sem_write(&place->dir->sem);
	if (cf_place_is(dentry, place->parent, &place->name))
		return true;
	cf_vfs_sem_write_done(&place->dir->sem);
	cf_dentry_put(place->above);
	return false;
}

// A negative dentry's name is made. 1: it is there by now, or has been moved: look again.
static int make(struct cf_task *task, struct cf_dentry *dentry, uint32_t mode)
{
	struct cf_place place;
	struct cf_inode *inode;
	char bytes[CF_NAME_MAX + 1];
	int error;
	if (!lock_place(dentry, bytes, &place))
		return is_in_removed(dentry) ? -ENOENT : 1;
	error = cf_dentry_inode(dentry) ? 1 : cf_vfs_may_create(task, place.parent, place.dir);
	if (!error)
		error = place.dir->ops->create(place.dir, &place.name, cf_vfs_new_mode(task, place.dir, S_IFREG | (mode & 07777)),
					       &task->cred, &inode);
	if (!error)
		cf_dentry_instantiate(dentry, inode);
	cf_place_unlock(&place);
	cf_dentry_put(place.above);
	return error;
}

// The dentry to open, referenced; *made: it is new.
static int find_or_make(struct cf_task *task, int dir, const char *path, int flags, uint32_t mode, struct cf_walk *w, bool *made)
{
	unsigned how = flags & (O_NOFOLLOW | (flags & O_CREAT ? O_EXCL : 0)) ? 0 : CF_WALK_FOLLOW;
	int error;
	*made = false;
	if (!(flags & O_CREAT))
		return cf_vfs_walk(task, dir, path, how, w);
	if (path[0] && path[strlen(path) - 1] == '/') { // a name with a slash behind it is never made
		error = cf_vfs_walk(task, dir, path, CF_WALK_PARENT, w);
		if (error)
			return error;
		cf_dentry_put(w->dentry);
		if (w->last_type == CF_LAST_NORMAL)
			return -EISDIR;
	}
	do {
		error = cf_vfs_walk(task, dir, path, how | CF_WALK_CREATE, w);
		if (error)
			return error;
		if (w->trailing && w->last_type == CF_LAST_NORMAL)
			error = -EISDIR;
		else if (!cf_dentry_inode(w->dentry)) {
			error = make(task, w->dentry, mode);
			*made = !error;
		}
		if (error)
			cf_dentry_put(w->dentry);
	} while (error > 0);
	return error;
}

static void truncate_opened(struct cf_task *task, struct cf_inode *inode)
{
	struct cf_attr attr = { .valid = CF_ATTR_SIZE };
	cf_inode_drop_privileges(inode, &task->cred);
	if (inode->ops->setattr(inode, &attr, &task->cred) == 0)
		cf_inode_touch_write(inode);
}

// What may be opened. Takes over hold and dentry.
static int open_checked(struct cf_task *task, const struct cf_held *held, struct cf_dentry *dentry, int flags, bool made,
			struct cf_file **file)
{
	int kept = flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW | O_DIRECTORY | CF_O_ANYFD);
	int error = cf_file_open(task->vfs, held->inode, held->hold, dentry, kept, file);
	if (!error && (flags & O_TRUNC) && S_ISREG(CF_INODE_LOAD(held->inode, mode)) && !made)
		truncate_opened(task, held->inode);
	return error;
}

int cf_open_inode(struct cf_task *task, struct cf_inode *inode, struct cf_dentry *dentry, int flags, bool made,
		  struct cf_file **file)
{
	int error = made ? 0 : may_open(task, inode, flags & O_CREAT ? flags : flags & ~O_EXCL);
	bool directory = !error && S_ISDIR(CF_INODE_LOAD(inode, mode));
	if (error)
		return error;
	cf_inode_get(inode);
	if (directory)
		cf_dentry_get(dentry);
	return open_checked(task, &(struct cf_held){ inode, 0 }, directory ? dentry : NULL, flags, made, file);
}

// What is there already and known, by its inode alone. NOT_KNOWN: it may have to be looked up, or made.
static int open_known(struct cf_task *task, int dir, const char *path, int flags, struct cf_file **file)
{
	struct cf_held held;
	int error;
	if ((flags & O_CREAT) && ((flags & O_EXCL) || path[strlen(path) - 1] == '/'))
		return CF_VFS_NOT_KNOWN;
	error = cf_vfs_hold(task, dir, path, flags & O_NOFOLLOW ? 0 : CF_WALK_FOLLOW, &held);
	if (error)
		return flags & O_CREAT ? CF_VFS_NOT_KNOWN : error;
	error = may_open(task, held.inode, flags & ~O_EXCL);
	if (!error)
		return open_checked(task, &held, NULL, flags, false, file);
	cf_inode_unhold(held.inode, held.hold);
	return error;
}

static int open_dentry(struct cf_task *task, struct cf_dentry *dentry, int flags, bool made, struct cf_file **file)
{
	struct cf_inode *inode = cf_dentry_inode(dentry);
	int error = inode ? cf_open_inode(task, inode, dentry, flags, made, file) : -ENOENT;
	cf_dentry_put(dentry);
	return error;
}

int cf_open_check(const char *path, int flags)
{
	if ((flags & O_ACCMODE) == O_ACCMODE || (flags & NOT_HERE) ||
	    (flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		return -EINVAL;
	return !*path ? -ENOENT : strnlen(path, CF_PATH_MAX) == CF_PATH_MAX ? -ENAMETOOLONG : 0;
}

// It is known that what is to be made is there.
static bool taken(struct cf_task *task, int dir, const char *path, int flags)
{
	return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) && path[strlen(path) - 1] != '/' &&
	       cf_vfs_known_present(task, dir, path);
}

int cf_vfs_openat(struct cf_task *task, int dir, const char *path, int flags, uint32_t mode)
{
	struct cf_walk walk;
	struct cf_file *file = NULL;
	bool made;
	int error = cf_open_check(path, flags), fd;
	if (error)
		return error;
	fd = cf_fd_reserve(task, flags);
	if (fd < 0)
		return fd;
	if (taken(task, dir, path, flags))
		error = -EEXIST;
	else
		error = open_known(task, dir, path, flags, &file);
	if (error == CF_VFS_NOT_KNOWN) {
		error = find_or_make(task, dir, path, flags, mode, &walk, &made);
		if (!error)
			error = open_dentry(task, walk.dentry, flags, made, &file);
	}
	cf_fd_set(task, fd, file);
	cf_vfs_relax(task->vfs);
	return error ? error : fd;
}
