// SPDX-License-Identifier: MIT OR Apache-2.0
// The kit's file system, in memory and without limits.
#include "fs_calls.h"

#include <corefold/cf_rcu.h>
#include <corefold/cf_vfs.h>
#include <stdlib.h>

static struct cf_vfs *vfs_of(struct fs *fs)
{
	return (struct cf_vfs *)fs;
}

static struct cf_task *task_of(struct fs_task *task)
{
	return (struct cf_task *)task;
}

/* File systems that this thread has started: it is registered while there are any. */
static __thread long started;

static struct fs *kit_start(const char *where)
{
	struct cf_vfs *vfs = NULL;
	(void)where;
	if (!started++)
		cf_rcu_register_thread();
	int error = cf_vfs_new(&vfs, NULL);
	if (error < 0) {
		errno = -error;
		if (!--started)
			cf_rcu_unregister_thread();
		return NULL;
	}
	return (struct fs *)vfs;
}

static void kit_stop(struct fs *fs)
{
	cf_vfs_free(vfs_of(fs));
	if (!--started)
		cf_rcu_unregister_thread();
}

static struct fs_task *kit_task_new(struct fs *fs)
{
	struct cf_task *task = NULL;
	return cf_task_new(&task, vfs_of(fs), NULL) < 0 ? NULL : (struct fs_task *)task;
}

static void kit_task_free(struct fs_task *task)
{
	cf_task_free(task_of(task));
}

static void kit_thread_begin(void)
{
	cf_rcu_register_thread();
}

static void kit_thread_end(void)
{
	cf_rcu_unregister_thread();
}

static int kit_drop_names(struct fs *fs)
{
	while (cf_vfs_shrink(vfs_of(fs), INT32_MAX) > 0)
		;
	return 0;
}

/* Any free descriptor: a server that does not need the lowest says so. */
static int kit_open(struct fs_task *task, const char *path, int flags, unsigned mode)
{
	return cf_vfs_open(task_of(task), path, flags | CF_O_ANYFD, mode);
}

static int kit_close(struct fs_task *task, int fd)
{
	return cf_vfs_close(task_of(task), fd);
}

static ssize_t kit_read(struct fs_task *task, int fd, void *to, size_t size)
{
	return cf_vfs_read(task_of(task), fd, to, size);
}

static ssize_t kit_write(struct fs_task *task, int fd, const void *from, size_t size)
{
	return cf_vfs_write(task_of(task), fd, from, size);
}

static ssize_t kit_pread(struct fs_task *task, int fd, void *to, size_t size, int64_t offset)
{
	return cf_vfs_pread(task_of(task), fd, to, size, offset);
}

static ssize_t kit_pwrite(struct fs_task *task, int fd, const void *from, size_t size, int64_t offset)
{
	return cf_vfs_pwrite(task_of(task), fd, from, size, offset);
}

static int64_t kit_lseek(struct fs_task *task, int fd, int64_t offset, int whence)
{
	return cf_vfs_lseek(task_of(task), fd, offset, whence);
}

static int kit_ftruncate(struct fs_task *task, int fd, int64_t size)
{
	return cf_vfs_ftruncate(task_of(task), fd, size);
}

static int kit_fsync(struct fs_task *task, int fd)
{
	return cf_vfs_fsync(task_of(task), fd);
}

static int attributes(int result, const struct cf_stat *from, struct fs_stat *to)
{
	if (result >= 0)
		*to = (struct fs_stat){ from->ino, (uint64_t)from->size, from->nlink, from->mode };
	return result;
}

static int kit_stat(struct fs_task *task, const char *path, struct fs_stat *to)
{
	struct cf_stat st;
	return attributes(cf_vfs_stat(task_of(task), path, &st), &st, to);
}

static int kit_lstat(struct fs_task *task, const char *path, struct fs_stat *to)
{
	struct cf_stat st;
	return attributes(cf_vfs_lstat(task_of(task), path, &st), &st, to);
}

static int kit_fstat(struct fs_task *task, int fd, struct fs_stat *to)
{
	struct cf_stat st;
	return attributes(cf_vfs_fstat(task_of(task), fd, &st), &st, to);
}

static int kit_link(struct fs_task *task, const char *from, const char *to)
{
	return cf_vfs_link(task_of(task), from, to);
}

static int kit_unlink(struct fs_task *task, const char *path)
{
	return cf_vfs_unlink(task_of(task), path);
}

static int kit_rename(struct fs_task *task, const char *from, const char *to)
{
	return cf_vfs_rename(task_of(task), from, to);
}

static int kit_mkdir(struct fs_task *task, const char *path, unsigned mode)
{
	return cf_vfs_mkdir(task_of(task), path, mode);
}

static int kit_rmdir(struct fs_task *task, const char *path)
{
	return cf_vfs_rmdir(task_of(task), path);
}

static int kit_symlink(struct fs_task *task, const char *target, const char *path)
{
	return cf_vfs_symlink(task_of(task), target, path);
}

static ssize_t kit_readlink(struct fs_task *task, const char *path, char *to, size_t size)
{
	return cf_vfs_readlinkat(task_of(task), CF_AT_FDCWD, path, to, size);
}

static int kit_readdir(struct fs_task *task, int fd)
{
	enum { ENTRIES = 16 };
	struct cf_dirent entries[ENTRIES];
	return cf_vfs_readdir(task_of(task), fd, entries, ENTRIES);
}

static int kit_pipe(struct fs_task *task, int fds[2])
{
	return cf_vfs_pipe(task_of(task), fds, CF_O_ANYFD);
}

static int kit_socketpair(struct fs_task *task, int fds[2])
{
	return cf_vfs_socketpair(task_of(task), fds, CF_O_ANYFD);
}

const struct fs_calls fs_kit = {
	.name = "kit",
	.start = kit_start,
	.stop = kit_stop,
	.task_new = kit_task_new,
	.task_free = kit_task_free,
	.thread_begin = kit_thread_begin,
	.thread_end = kit_thread_end,
	.drop_names = kit_drop_names,
	.open = kit_open,
	.close = kit_close,
	.read = kit_read,
	.write = kit_write,
	.pread = kit_pread,
	.pwrite = kit_pwrite,
	.lseek = kit_lseek,
	.ftruncate = kit_ftruncate,
	.fsync = kit_fsync,
	.stat = kit_stat,
	.lstat = kit_lstat,
	.fstat = kit_fstat,
	.link = kit_link,
	.unlink = kit_unlink,
	.rename = kit_rename,
	.mkdir = kit_mkdir,
	.rmdir = kit_rmdir,
	.symlink = kit_symlink,
	.readlink = kit_readlink,
	.readdir = kit_readdir,
	.pipe = kit_pipe,
	.socketpair = kit_socketpair,
	.send = kit_write,
	.recv = kit_read,
};
