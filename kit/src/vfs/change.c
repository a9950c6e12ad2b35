// SPDX-License-Identifier: MIT OR Apache-2.0
// Attributes: calls that read and change them, by path and by descriptor.
#include "vfs.h"

#include <unistd.h>

// What a call does once it knows which inode.
typedef int action(struct cf_task *task, struct cf_inode *inode, const void *argument);

static int on_descriptor(struct cf_task *task, int fd, action *act, const void *argument)
{
	struct cf_file *file = cf_task_file_get(task, fd);
	int error;
	if (!file)
		return -EBADF;
	error = act(task, file->inode, argument);
	cf_file_put(file);
	return error;
}

// Puts the dentry.
static int on_dentry(struct cf_task *task, struct cf_dentry *dentry, action *act, const void *argument)
{
	struct cf_inode *inode = cf_dentry_inode(dentry);
	int error = inode ? act(task, inode, argument) : -ENOENT;
	cf_dentry_put(dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

static int on_path(struct cf_task *task, int dir, const char *path, int flags, action *act, const void *argument)
{
	struct cf_walk w;
	int error;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!*path && (flags & AT_EMPTY_PATH))
		return dir == CF_AT_FDCWD ? on_dentry(task, cf_vfs_cwd(task), act, argument) :
					    on_descriptor(task, dir, act, argument);
	error = cf_vfs_walk(task, dir, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : CF_WALK_FOLLOW, &w);
	return error ? error : on_dentry(task, w.dentry, act, argument);
}

// --- stat: no reference, and nothing is stored.

static int copy_attributes(const struct cf_dentry *dentry, const struct cf_inode *inode, void *stat)
{
	(void)dentry;
	if (!inode)
		return -ENOENT;
	cf_inode_stat(inode, stat);
	return 0;
}

int cf_vfs_fstat(struct cf_task *task, int fd, struct cf_stat *stat)
{
	struct cf_file *file;
	cf_rcu_read_lock();
	file = cf_task_file(task, fd);
	if (file)
		cf_inode_stat(file->inode, stat);
	cf_rcu_read_unlock();
	return file ? 0 : -EBADF;
}

static int stat_empty(struct cf_task *task, int dir, struct cf_stat *stat)
{
	if (dir != CF_AT_FDCWD)
		return cf_vfs_fstat(task, dir, stat);
	cf_rcu_read_lock();
	cf_inode_stat(cf_dentry_inode_at(&task->cwd), stat);
	cf_rcu_read_unlock();
	return 0;
}

int cf_vfs_fstatat(struct cf_task *task, int dir, const char *path, struct cf_stat *stat, int flags)
{
	struct cf_walk w;
	struct cf_stat found; // written also by a walk that has to begin again, and then finds nothing
	int error;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
		return -EINVAL;
	if (!*path && (flags & AT_EMPTY_PATH))
		return stat_empty(task, dir, stat);
	w.flags = flags & AT_SYMLINK_NOFOLLOW ? 0 : CF_WALK_FOLLOW;
	error = cf_vfs_start(task, dir, path, &w);
	if (error)
		return error;
	error = cf_walk_rcu(&w, path, copy_attributes, &found);
	cf_dentry_put(w.start);
	if (!error)
		*stat = found;
	cf_vfs_relax(task->vfs);
	return error;
}

static int act_statvfs(struct cf_task *task, struct cf_inode *inode, const void *stat)
{
	const struct cf_backend *backend = task->vfs->options.backend;
	struct cf_statvfs *to = *(struct cf_statvfs *const *)stat;
	(void)inode;
	if (backend->statvfs)
		return backend->statvfs(task->vfs, to);
	cf_vfs_statvfs_of(task->vfs, to);
	return 0;
}

int cf_vfs_statvfs(struct cf_task *task, const char *path, struct cf_statvfs *stat)
{
	return on_path(task, CF_AT_FDCWD, path, 0, act_statvfs, &stat);
}

// --- Modes and owners.

static int store(struct cf_task *task, struct cf_inode *inode, const struct cf_attr *attr)
{
	int error = inode->ops->setattr ? inode->ops->setattr(inode, attr, &task->cred) : -EPERM;
	if (!error)
		cf_inode_set(inode, attr);
	return error;
}

static int act_chmod(struct cf_task *task, struct cf_inode *inode, const void *argument)
{
	struct cf_attr attr = { .valid = CF_ATTR_MODE, .mode = *(const uint32_t *)argument & 07777 };
	if (!cf_cred_owns(&task->cred, inode))
		return -EPERM;
	if (!task->cred.privileged && !cf_cred_in_group(&task->cred, CF_INODE_LOAD(inode, gid)))
		attr.mode &= ~(uint32_t)S_ISGID;
	return store(task, inode, &attr);
}

struct owners {
	uint32_t uid, gid;
};

static bool may_chown(const struct cf_cred *cred, const struct cf_inode *inode, const struct owners *o)
{
	bool owner = cred->uid == CF_INODE_LOAD(inode, uid);
	if (cred->privileged)
		return true;
	if (o->uid != UINT32_MAX && (!owner || o->uid != CF_INODE_LOAD(inode, uid)))
		return false;
	return o->gid == UINT32_MAX ||
	       (owner && (cf_cred_in_group(cred, o->gid) || o->gid == CF_INODE_LOAD(inode, gid)));
}

static int act_chown(struct cf_task *task, struct cf_inode *inode, const void *argument)
{
	const struct owners *o = argument;
	uint32_t mode = CF_INODE_LOAD(inode, mode);
	struct cf_attr attr = { .uid = o->uid, .gid = o->gid, .mode = mode & 07777 };
	if (!may_chown(&task->cred, inode, o))
		return -EPERM;
	if (!S_ISDIR(mode) && (mode & (S_ISUID | S_ISGID))) {
		bool group = task->cred.privileged || cf_cred_in_group(&task->cred, CF_INODE_LOAD(inode, gid));
		if (!cf_cred_owns(&task->cred, inode))
			return -EPERM;
		attr.valid = CF_ATTR_MODE;
		attr.mode &= ~(uint32_t)(S_ISUID | ((mode & S_IXGRP) || !group ? S_ISGID : 0));
	}
	attr.valid |= (o->uid != UINT32_MAX ? CF_ATTR_UID : 0) | (o->gid != UINT32_MAX ? CF_ATTR_GID : 0);
	return store(task, inode, &attr);
}

int cf_vfs_fchmodat(struct cf_task *task, int dir, const char *path, uint32_t mode)
{
	return on_path(task, dir, path, 0, act_chmod, &mode);
}

int cf_vfs_fchmod(struct cf_task *task, int fd, uint32_t mode)
{
	return on_descriptor(task, fd, act_chmod, &mode);
}

int cf_vfs_fchownat(struct cf_task *task, int dir, const char *path, uint32_t uid, uint32_t gid, int flags)
{
	return on_path(task, dir, path, flags, act_chown, &(struct owners){ uid, gid });
}

int cf_vfs_fchown(struct cf_task *task, int fd, uint32_t uid, uint32_t gid)
{
	return on_descriptor(task, fd, act_chown, &(struct owners){ uid, gid });
}

// --- Times.

static bool is_valid(const struct cf_time *t)
{
	return t->nsec == UTIME_NOW || t->nsec == UTIME_OMIT || (t->nsec >= 0 && t->nsec < 1000000000);
}

static int64_t ns_of(const struct cf_time *t, int64_t now)
{
	return t->nsec == UTIME_NOW ? now : t->nsec == UTIME_OMIT ? 0 : cf_ns_of(t->sec, t->nsec);
}

static int act_utimens(struct cf_task *task, struct cf_inode *inode, const void *argument)
{
	const struct cf_time *t = argument;
	int64_t now = cf_vfs_now(task->vfs);
	struct cf_attr attr = { .atime = ns_of(&t[0], now), .mtime = ns_of(&t[1], now) };
	if (!is_valid(&t[0]) || !is_valid(&t[1]))
		return -EINVAL;
	if (!cf_cred_owns(&task->cred, inode)) {
		if (t[0].nsec != UTIME_NOW || t[1].nsec != UTIME_NOW)
			return -EPERM;
		if (cf_inode_permission(inode, CF_MAY_WRITE, &task->cred, true))
			return -EACCES;
	}
	attr.valid = (t[0].nsec != UTIME_OMIT ? CF_ATTR_ATIME : 0) | (t[1].nsec != UTIME_OMIT ? CF_ATTR_MTIME : 0);
	return store(task, inode, &attr);
}

int cf_vfs_utimensat(struct cf_task *task, int dir, const char *path, const struct cf_time times[2], int flags)
{
	static const struct cf_time now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	times = times ? times : now;
	if (times[0].nsec == UTIME_OMIT && times[1].nsec == UTIME_OMIT)
		return 0;
	if (path)
		return on_path(task, dir, path, flags, act_utimens, times);
	return flags ? -EINVAL : on_descriptor(task, dir, act_utimens, times);
}

// --- Access, and what there is not.

static int act_access(struct cf_task *task, struct cf_inode *inode, const void *mask)
{
	return cf_inode_permission(inode, *(const uint32_t *)mask, &task->cred, true);
}

int cf_vfs_faccessat(struct cf_task *task, int dir, const char *path, int mode, int flags)
{
	uint32_t mask = (uint32_t)mode;
	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	return on_path(task, dir, path, flags & ~AT_EACCESS, act_access, &mask); // a task has no other credentials
}

static int act_not_supported(struct cf_task *task, struct cf_inode *inode, const void *argument)
{
	(void)task, (void)inode, (void)argument;
	return -EOPNOTSUPP;
}

static int act_no_lock(struct cf_task *task, struct cf_inode *inode, const void *argument)
{
	(void)task, (void)inode, (void)argument;
	return -EINVAL;
}

int cf_vfs_setxattr(struct cf_task *task, const char *path, const char *name, const void *value, size_t size)
{
	(void)name, (void)value, (void)size;
	return on_path(task, CF_AT_FDCWD, path, 0, act_not_supported, NULL);
}

int64_t cf_vfs_getxattr(struct cf_task *task, const char *path, const char *name, void *value, size_t size)
{
	(void)name, (void)value, (void)size;
	return on_path(task, CF_AT_FDCWD, path, 0, act_not_supported, NULL);
}

int cf_vfs_lock(struct cf_task *task, int fd, int operation)
{
	(void)operation;
	return on_descriptor(task, fd, act_no_lock, NULL);
}

int cf_vfs_mount(struct cf_task *task, const char *source, const char *target)
{
	(void)source, (void)target;
	return task->cred.privileged ? -ENODEV : -EPERM;
}
