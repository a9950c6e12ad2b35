// SPDX-License-Identifier: MIT OR Apache-2.0
// Files by themselves, not by their names.
#include "vfs.h"

#include <corefold/cf_handle.h>

void cf_handle_root(struct cf_vfs *vfs, struct cf_handle *root)
{
	root->dentry = vfs->super.root;
	root->inode = cf_dentry_inode(root->dentry);
	cf_dentry_get(root->dentry);
	cf_inode_get(root->inode);
}

int cf_handle_lookup(struct cf_task *task, const struct cf_handle *dir, const char *name, struct cf_handle *found)
{
	struct cf_walk w = { .root = task->vfs->super.root, .start = dir->dentry, .cred = &task->cred };
	int error = !dir->dentry ? -ENOTDIR : !*name ? -ENOENT : cf_walk(&w, name);
	if (error)
		return error;
	found->inode = cf_dentry_inode(w.dentry);
	found->dentry = NULL;
	if (!found->inode) {
		error = -ENOENT;
	} else {
		cf_inode_get(found->inode);
		if (S_ISDIR(CF_INODE_LOAD(found->inode, mode)))
			found->dentry = w.dentry;
	}
	if (error || !found->dentry)
		cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

void cf_handle_put(struct cf_handle *handle)
{
	cf_dentry_put(handle->dentry);
	cf_inode_put(handle->inode);
}

void cf_handle_stat(const struct cf_handle *handle, struct cf_stat *stat)
{
	cf_inode_stat(handle->inode, stat);
}

int64_t cf_handle_readlink(struct cf_task *task, const struct cf_handle *handle, char *to, size_t size)
{
	int64_t length = size ? cf_inode_readlink(handle->inode, to, size) : -EINVAL;
	cf_vfs_relax(task->vfs);
	return length;
}

int cf_handle_open(struct cf_task *task, const struct cf_handle *handle, int flags)
{
	struct cf_file *file = NULL;
	int error, fd = flags & O_CREAT ? -EINVAL : cf_open_check("/", flags);
	if (fd < 0 || (fd = cf_fd_reserve(task, flags)) < 0)
		return fd;
	error = cf_open_inode(task, handle->inode, handle->dentry, flags, false, &file);
	cf_fd_set(task, fd, file);
	cf_vfs_relax(task->vfs);
	return error ? error : fd;
}

int cf_handle_place(struct cf_task *task, const struct cf_handle *handle)
{
	struct cf_file *file = NULL;
	int error, fd = cf_fd_reserve(task, CF_O_ANYFD);
	if (fd < 0)
		return fd;
	cf_inode_get(handle->inode);
	if (handle->dentry)
		cf_dentry_get(handle->dentry);
	error = cf_file_place(task->vfs, handle->inode, handle->dentry, &file);
	cf_fd_set(task, fd, file);
	return error ? error : fd;
}

int cf_handle_of(struct cf_task *task, int fd, struct cf_handle *handle)
{
	struct cf_file *file = cf_task_file_get(task, fd);
	if (!file)
		return -EBADF;
	handle->inode = file->inode;
	handle->dentry = file->dentry;
	cf_inode_get(handle->inode);
	if (handle->dentry)
		cf_dentry_get(handle->dentry);
	cf_file_put(file);
	return 0;
}

int cf_handle_link(struct cf_task *task, const struct cf_handle *handle, int dir, const char *name)
{
	int error = cf_inode_link(task, handle->inode, dir, name);
	cf_vfs_relax(task->vfs);
	return error;
}
