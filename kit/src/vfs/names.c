// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls that make and remove names. The order of the checks is Linux's.
#include "vfs.h"

// Where a new name goes: the directory's sem is taken, and its dentry's reference the caller's. *fresh: the negative dentry.
static int begin_new(struct cf_task *task, struct cf_walk *w, bool directory, struct cf_dentry **fresh)
{
	struct cf_inode *dir = cf_dentry_inode(w->dentry);
	int error;
	if (w->last_type != CF_LAST_NORMAL)
		return -EEXIST;
	cf_vfs_sem_write(&dir->sem);
	error = cf_dentry_find(w->dentry, &w->last, true, fresh);
	if (!error) {
		error = cf_dentry_inode(*fresh) ? -EEXIST : w->trailing && !directory ? -ENOENT :
							    cf_vfs_may_create(task, dir);
		if (error)
			cf_dentry_put(*fresh);
	}
	if (error)
		cf_vfs_sem_write_done(&dir->sem);
	return error;
}

static int make_in(struct cf_task *task, struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const char *target,
		   struct cf_inode **inode)
{
	if (target)
		return dir->ops->symlink(dir, name, target, &task->cred, inode);
	mode = cf_vfs_new_mode(task, dir, mode);
	return S_ISDIR(mode) ? dir->ops->mkdir(dir, name, mode, &task->cred, inode) :
			       dir->ops->create(dir, name, mode, &task->cred, inode);
}

static int make(struct cf_task *task, int fd, const char *path, uint32_t mode, const char *target)
{
	struct cf_walk w;
	struct cf_dentry *fresh;
	struct cf_inode *inode;
	int error = cf_vfs_known_present(task, fd, path);
	error = error ? error : cf_vfs_walk(task, fd, path, CF_WALK_PARENT, &w);
	if (error)
		return error;
	error = begin_new(task, &w, S_ISDIR(mode), &fresh);
	if (!error) {
		struct cf_inode *dir = cf_dentry_inode(w.dentry);
		error = make_in(task, dir, &w.last, mode, target, &inode);
		if (!error)
			cf_dentry_instantiate(fresh, inode);
		cf_vfs_sem_write_done(&dir->sem);
		cf_dentry_put(fresh);
	}
	cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

int cf_vfs_mkdirat(struct cf_task *task, int dir, const char *path, uint32_t mode)
{
	return make(task, dir, path, S_IFDIR | (mode & 01777), NULL);
}

int cf_vfs_mknodat(struct cf_task *task, int dir, const char *path, uint32_t mode)
{
	mode &= S_IFMT | 07777;
	if (!(mode & S_IFMT))
		mode |= S_IFREG;
	if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode))
		return -EPERM;
	return make(task, dir, path, mode, NULL);
}

int cf_vfs_symlinkat(struct cf_task *task, const char *target, int dir, const char *path)
{
	if (!*target)
		return -ENOENT;
	if (strnlen(target, CF_PATH_MAX) == CF_PATH_MAX)
		return -ENAMETOOLONG;
	return make(task, dir, path, S_IFLNK | 0777, target);
}

static int link_in(struct cf_task *task, struct cf_inode *inode, struct cf_walk *to)
{
	struct cf_inode *dir = cf_dentry_inode(to->dentry);
	struct cf_dentry *fresh;
	int error = begin_new(task, to, false, &fresh);
	if (error)
		return error;
	error = !inode ? -ENOENT : S_ISDIR(CF_INODE_LOAD(inode, mode)) ? -EPERM : dir->ops->link(dir, &to->last, inode);
	if (!error) {
		cf_inode_get(inode);
		cf_dentry_instantiate(fresh, inode);
	}
	cf_vfs_sem_write_done(&dir->sem);
	cf_dentry_put(fresh);
	return error;
}

int cf_inode_link(struct cf_task *task, struct cf_inode *inode, int to_dir, const char *to)
{
	struct cf_walk w;
	int error = cf_vfs_known_present(task, to_dir, to);
	error = error ? error : cf_vfs_walk(task, to_dir, to, CF_WALK_PARENT, &w);
	if (error)
		return error;
	error = link_in(task, inode, &w);
	cf_dentry_put(w.dentry);
	return error;
}

// It is known that the file is there, and that the new name is taken.
static bool both_present(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to)
{
	struct cf_vfs_peek source, target;
	bool present;
	cf_rcu_read_lock();
	present = cf_vfs_peek(task, from_dir, from, &source) == CF_KNOWN_PRESENT && !source.trailing &&
		  cf_vfs_peek(task, to_dir, to, &target) == CF_KNOWN_PRESENT &&
		  !cf_dentry_seq_changed(source.dentry, source.seq);
	cf_rcu_read_unlock();
	return present;
}

int cf_vfs_linkat(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	struct cf_walk source;
	struct cf_held held;
	int error;
	if (flags & ~AT_SYMLINK_FOLLOW)
		return -EINVAL;
	if (!flags && both_present(task, from_dir, from, to_dir, to))
		return -EEXIST;
	error = cf_vfs_hold(task, from_dir, from, flags ? CF_WALK_FOLLOW : 0, &held);
	if (!error) {
		error = cf_inode_link(task, held.inode, to_dir, to);
		cf_inode_unhold(held.inode, held.hold);
		cf_vfs_relax(task->vfs);
		return error;
	}
	if (error != CF_VFS_NOT_KNOWN)
		return error;
	error = cf_vfs_walk(task, from_dir, from, flags ? CF_WALK_FOLLOW : 0, &source);
	if (error)
		return error;
	error = cf_inode_link(task, cf_dentry_inode(source.dentry), to_dir, to);
	cf_dentry_put(source.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

static int remove_found(struct cf_task *task, struct cf_walk *w, struct cf_dentry *victim, bool directory)
{
	struct cf_inode *dir = cf_dentry_inode(w->dentry), *inode = cf_dentry_inode(victim);
	int error;
	if (!inode)
		return -ENOENT;
	if (!directory && w->trailing)
		return S_ISDIR(CF_INODE_LOAD(inode, mode)) ? -EISDIR : -ENOTDIR;
	error = cf_vfs_may_delete(task, dir, inode, directory);
	if (error)
		return error;
	error = directory ? dir->ops->rmdir(dir, &w->last, inode) : dir->ops->unlink(dir, &w->last, inode);
	if (!error && directory)
		cf_dentry_drop_names(victim);
	if (!error)
		cf_dentry_delete(victim);
	return error;
}

static int last_is_no_name(enum cf_walk_last type, bool directory)
{
	if (!directory)
		return -EISDIR;
	return type == CF_LAST_DOT ? -EINVAL : type == CF_LAST_DOTDOT ? -ENOTEMPTY : -EBUSY;
}

static int remove_last(struct cf_task *task, struct cf_walk *w, bool directory)
{
	struct cf_inode *dir = cf_dentry_inode(w->dentry);
	struct cf_dentry *victim;
	int error;
	if (w->last_type != CF_LAST_NORMAL)
		return last_is_no_name(w->last_type, directory);
	cf_vfs_sem_write(&dir->sem);
	error = cf_dentry_find(w->dentry, &w->last, true, &victim);
	if (!error) {
		error = remove_found(task, w, victim, directory);
		cf_dentry_put(victim);
	}
	cf_vfs_sem_write_done(&dir->sem);
	return error;
}

int cf_vfs_unlinkat(struct cf_task *task, int dir, const char *path, int flags)
{
	struct cf_walk w;
	int error = flags & ~AT_REMOVEDIR ? -EINVAL : cf_vfs_known_absent(task, dir, path);
	error = error ? error : cf_vfs_walk(task, dir, path, CF_WALK_PARENT, &w);
	if (error)
		return error;
	error = remove_last(task, &w, flags & AT_REMOVEDIR);
	cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

int64_t cf_inode_readlink(struct cf_inode *inode, char *to, size_t size)
{
	char text[CF_PATH_MAX];
	const char *link = CF_INODE_LOAD(inode, link);
	int64_t result = S_ISLNK(CF_INODE_LOAD(inode, mode)) ? 0 : -EINVAL;
	if (result == 0 && !link && (result = inode->ops->readlink(inode, text, sizeof text)) >= 0)
		link = text;
	if (result >= 0) {
		size_t length = strlen(link);
		result = (int64_t)(length < size ? length : size);
		memcpy(to, link, (size_t)result);
		cf_inode_touch_read(inode);
	}
	return result;
}

int64_t cf_vfs_readlinkat(struct cf_task *task, int dir, const char *path, char *to, size_t size)
{
	struct cf_walk w;
	int64_t result = size ? cf_vfs_walk(task, dir, path, 0, &w) : -EINVAL;
	if (result)
		return result;
	struct cf_inode *inode = cf_dentry_inode(w.dentry);
	result = inode ? cf_inode_readlink(inode, to, size) : -ENOENT;
	cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return result;
}
