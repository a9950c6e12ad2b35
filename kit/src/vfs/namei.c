// SPDX-License-Identifier: MIT OR Apache-2.0
// Where paths begin, and who may change names.
#include "vfs.h"

struct cf_dentry *cf_vfs_cwd(struct cf_task *task)
{
	return cf_dentry_grab_at(&task->cwd);
}

// Fills in where the walk begins: walk->start is referenced unless it is null (an absolute path) or 0 is not returned.
int cf_vfs_start(struct cf_task *task, int dir, const char *path, struct cf_walk *w)
{
	struct cf_file *file;
	w->root = task->vfs->super.root;
	w->cred = &task->cred;
	w->start = NULL;
	if (!*path)
		return -ENOENT;
	if (*path == '/')
		return 0;
	if (dir == CF_AT_FDCWD) {
		w->start = cf_vfs_cwd(task);
		return 0;
	}
	if (strnlen(path, CF_PATH_MAX) == CF_PATH_MAX)
		return -ENAMETOOLONG;
	file = cf_task_file_get(task, dir);
	if (!file)
		return -EBADF;
	w->start = file->dentry;
	if (w->start)
		cf_dentry_get(w->start);
	cf_file_put(file);
	return w->start ? 0 : -ENOTDIR;
}

int cf_vfs_walk(struct cf_task *task, int dir, const char *path, unsigned flags, struct cf_walk *w)
{
	int error;
	w->flags = flags;
	error = cf_vfs_start(task, dir, path, w);
	if (error)
		return error;
	error = cf_walk(w, path);
	cf_dentry_put(w->start);
	return error;
}

// Called once: with CF_WALK_RCU a walk does not begin again.
static int hold_end(const struct cf_dentry *dentry, const struct cf_inode *inode, void *argument)
{
	struct cf_held *held = argument;
	struct cf_inode *found = (struct cf_inode *)(uintptr_t)inode;
	(void)dentry;
	if (found && !S_ISDIR(CF_INODE_LOAD(found, mode)) && cf_inode_hold(found, &held->hold))
		held->inode = found;
	return held->inode ? 0 : CF_VFS_NOT_KNOWN;
}

int cf_vfs_hold(struct cf_task *task, int dir, const char *path, unsigned flags, struct cf_held *held)
{
	struct cf_walk w = { .flags = flags | CF_WALK_RCU };
	int error = CF_VFS_RCU_WALK ? cf_vfs_start(task, dir, path, &w) : CF_VFS_NOT_KNOWN;
	if (error)
		return error;
	held->inode = NULL;
	error = cf_walk_rcu(&w, path, hold_end, held);
	cf_dentry_put(w.start);
	if (error && held->inode) // the name has changed
		cf_inode_unhold(held->inode, held->hold);
	return error == -EAGAIN ? CF_VFS_NOT_KNOWN : error;
}

// The mode of a new file: the umask's bits are gone; so is setgid where the group would be one that is not the caller's.
uint32_t cf_vfs_new_mode(struct cf_task *task, const struct cf_inode *dir, uint32_t mode)
{
	if ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && !S_ISDIR(mode) && (CF_INODE_LOAD(dir, mode) & S_ISGID) &&
	    !task->cred.privileged && !cf_cred_in_group(&task->cred, CF_INODE_LOAD(dir, gid)))
		mode &= ~(uint32_t)S_ISGID;
	return mode & ~__atomic_load_n(&task->umask, __ATOMIC_RELAXED); // relaxed: the number alone
}

int cf_vfs_may_create(struct cf_task *task, const struct cf_dentry *parent, struct cf_inode *dir)
{
	if (cf_dentry_is_removed(parent))
		return -ENOENT;
	return cf_inode_permission(dir, CF_MAY_WRITE | CF_MAY_EXEC, &task->cred, true);
}

int cf_vfs_may_delete(struct cf_task *task, struct cf_inode *dir, struct cf_inode *victim, bool directory)
{
	const struct cf_cred *cred = &task->cred;
	bool is_directory = S_ISDIR(CF_INODE_LOAD(victim, mode));
	int error = cf_inode_permission(dir, CF_MAY_WRITE | CF_MAY_EXEC, cred, true);
	if (error)
		return error;
	if ((CF_INODE_LOAD(dir, mode) & S_ISVTX) && !cf_cred_owns(cred, victim) && !cf_cred_owns(cred, dir))
		return -EPERM;
	if (directory)
		return is_directory ? 0 : -ENOTDIR;
	return is_directory ? -EISDIR : 0;
}
