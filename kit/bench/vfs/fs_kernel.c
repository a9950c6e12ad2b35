// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel's file system, in a directory of its own that is removed at the end. Without a directory to work in: in a
// tmpfs where there is one, so that no disk is measured.
#include "fs_calls.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fs {
	int root;
	char place[PATH_MAX];
};

struct fs_task {
	int root;
	const char *place;
};

static ssize_t or_error(ssize_t result)
{
	return result < 0 ? -errno : result;
}

static int or_error_int(int result)
{
	return result < 0 ? -errno : result;
}

/* Below the root: what follows the leading slashes, or the root itself. */
static const char *below(const char *path)
{
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

static struct fs *kernel_start(const char *where)
{
	struct fs *fs = malloc(sizeof *fs);
	if (!fs)
		return NULL;
	if (!where)
		where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(fs->place, sizeof fs->place, "%s/corefold-bench-XXXXXX", where);
	fs->root = mkdtemp(fs->place) ? open(fs->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fs->root < 0) {
		free(fs);
		return NULL;
	}
	return fs;
}

/* Everything in a directory; symbolic links are not followed. */
static void remove_all(int directory)
{
	DIR *entries = fdopendir(directory);
	struct dirent *entry;
	if (!entries) {
		close(directory);
		return;
	}
	while ((entry = readdir(entries))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    unlinkat(dirfd(entries), entry->d_name, 0) == 0)
			continue;
		int inner = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner >= 0)
			remove_all(inner);
		unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
	}
	closedir(entries);
}

static void kernel_stop(struct fs *fs)
{
	remove_all(fs->root);
	rmdir(fs->place);
	free(fs);
}

static struct fs_task *kernel_task_new(struct fs *fs)
{
	struct fs_task *task = malloc(sizeof *task);
	if (task)
		*task = (struct fs_task){ fs->root, fs->place };
	return task;
}

static void kernel_task_free(struct fs_task *task)
{
	free(task);
}


/* tmpfs keeps names for as long as the files are there, and other file systems would have to forget everybody's. */
static int kernel_drop_names(struct fs *fs)
{
	(void)fs;
	return -EOPNOTSUPP;
}

static int kernel_open(struct fs_task *task, const char *path, int flags, unsigned mode)
{
	return or_error_int(openat(task->root, below(path), flags | O_CLOEXEC, mode));
}

static int kernel_close(struct fs_task *task, int fd)
{
	(void)task;
	return or_error_int(close(fd));
}

static ssize_t kernel_read(struct fs_task *task, int fd, void *to, size_t size)
{
	(void)task;
	return or_error(read(fd, to, size));
}

static ssize_t kernel_write(struct fs_task *task, int fd, const void *from, size_t size)
{
	(void)task;
	return or_error(write(fd, from, size));
}

static ssize_t kernel_pread(struct fs_task *task, int fd, void *to, size_t size, int64_t offset)
{
	(void)task;
	return or_error(pread(fd, to, size, offset));
}

static ssize_t kernel_pwrite(struct fs_task *task, int fd, const void *from, size_t size, int64_t offset)
{
	(void)task;
	return or_error(pwrite(fd, from, size, offset));
}

static int64_t kernel_lseek(struct fs_task *task, int fd, int64_t offset, int whence)
{
	(void)task;
	return or_error(lseek(fd, offset, whence));
}

static int kernel_ftruncate(struct fs_task *task, int fd, int64_t size)
{
	(void)task;
	return or_error_int(ftruncate(fd, size));
}

static int kernel_fsync(struct fs_task *task, int fd)
{
	(void)task;
	return or_error_int(fsync(fd));
}

static int attributes(int result, const struct stat *from, struct fs_stat *to)
{
	if (result < 0)
		return -errno;
	*to = (struct fs_stat){ from->st_ino, (uint64_t)from->st_size, from->st_nlink, from->st_mode };
	return 0;
}

static int kernel_stat(struct fs_task *task, const char *path, struct fs_stat *to)
{
	struct stat st;
	return attributes(fstatat(task->root, below(path), &st, 0), &st, to);
}

static int kernel_lstat(struct fs_task *task, const char *path, struct fs_stat *to)
{
	struct stat st;
	return attributes(fstatat(task->root, below(path), &st, AT_SYMLINK_NOFOLLOW), &st, to);
}

static int kernel_fstat(struct fs_task *task, int fd, struct fs_stat *to)
{
	struct stat st;
	(void)task;
	return attributes(fstat(fd, &st), &st, to);
}

static int kernel_link(struct fs_task *task, const char *from, const char *to)
{
	return or_error_int(linkat(task->root, below(from), task->root, below(to), 0));
}

static int kernel_unlink(struct fs_task *task, const char *path)
{
	return or_error_int(unlinkat(task->root, below(path), 0));
}

static int kernel_rename(struct fs_task *task, const char *from, const char *to)
{
	return or_error_int(renameat(task->root, below(from), task->root, below(to)));
}

static int kernel_mkdir(struct fs_task *task, const char *path, unsigned mode)
{
	return or_error_int(mkdirat(task->root, below(path), mode));
}

static int kernel_rmdir(struct fs_task *task, const char *path)
{
	return or_error_int(unlinkat(task->root, below(path), AT_REMOVEDIR));
}

/* An absolute target stays below the root: a trace cannot point out of the directory that it is replayed in. */
static int kernel_symlink(struct fs_task *task, const char *target, const char *path)
{
	char absolute[2 * PATH_MAX];
	if (*target == '/') {
		snprintf(absolute, sizeof absolute, "%s/%s", task->place, below(target));
		target = absolute;
	}
	return or_error_int(symlinkat(target, task->root, below(path)));
}

static ssize_t kernel_readlink(struct fs_task *task, const char *path, char *to, size_t size)
{
	return or_error(readlinkat(task->root, below(path), to, size));
}

static int kernel_readdir(struct fs_task *task, int fd)
{
	/* struct linux_dirent64: inode, position, then the length of the entry. */
	enum { LENGTH_AT = 16 };
	char entries[4096] __attribute__((aligned(8)));
	long bytes = syscall(SYS_getdents64, fd, entries, sizeof entries);
	int count = 0;
	(void)task;
	if (bytes < 0)
		return -errno;
	for (long at = 0; at < bytes; count++) {
		uint16_t length;
		memcpy(&length, entries + at + LENGTH_AT, sizeof length);
		at += length;
	}
	return count;
}

static int kernel_pipe(struct fs_task *task, int fds[2])
{
	(void)task;
	return or_error_int(pipe2(fds, O_CLOEXEC));
}

static int kernel_socketpair(struct fs_task *task, int fds[2])
{
	(void)task;
	return or_error_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
}

static ssize_t kernel_send(struct fs_task *task, int fd, const void *from, size_t size)
{
	(void)task;
	return or_error(send(fd, from, size, MSG_NOSIGNAL));
}

static ssize_t kernel_recv(struct fs_task *task, int fd, void *to, size_t size)
{
	(void)task;
	return or_error(recv(fd, to, size, 0));
}

const struct fs_calls fs_kernel = {
	.name = "kernel",
	.start = kernel_start,
	.stop = kernel_stop,
	.task_new = kernel_task_new,
	.task_free = kernel_task_free,
	.drop_names = kernel_drop_names,
	.open = kernel_open,
	.close = kernel_close,
	.read = kernel_read,
	.write = kernel_write,
	.pread = kernel_pread,
	.pwrite = kernel_pwrite,
	.lseek = kernel_lseek,
	.ftruncate = kernel_ftruncate,
	.fsync = kernel_fsync,
	.stat = kernel_stat,
	.lstat = kernel_lstat,
	.fstat = kernel_fstat,
	.link = kernel_link,
	.unlink = kernel_unlink,
	.rename = kernel_rename,
	.mkdir = kernel_mkdir,
	.rmdir = kernel_rmdir,
	.symlink = kernel_symlink,
	.readlink = kernel_readlink,
	.readdir = kernel_readdir,
	.pipe = kernel_pipe,
	.socketpair = kernel_socketpair,
	.send = kernel_send,
	.recv = kernel_recv,
};
