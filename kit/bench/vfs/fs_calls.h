/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * fs_calls.h: the file-system calls that the workloads make, as a table, so that one source measures two file systems:
 * the kernel's, by system calls in a temporary directory (fs_kernel.c), and the kit's (fs_kit.c).
 *
 * Every call takes a task, which a thread does not share. Paths are absolute and have no "..": the file system puts them
 * under its own root. Results are as system calls give them, but errors are negative errno values. Flags and modes are the
 * host's O_* and S_* values.
 */
#ifndef BENCH_VFS_FS_CALLS_H
#define BENCH_VFS_FS_CALLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct fs;
struct fs_task;

struct fs_stat {
	uint64_t ino, size, nlink;
	uint32_t mode;
};

struct fs_calls {
	const char *name;
	/* `where`: a directory to work in, or null. Null and errno: it cannot be. */
	struct fs *(*start)(const char *where);
	/* Removes what is left in it. */
	void (*stop)(struct fs *);
	struct fs_task *(*task_new)(struct fs *);
	void (*task_free)(struct fs_task *);
	/* Each thread that makes calls calls the one first and the other last; null: not needed. start's thread does not. */
	void (*thread_begin)(void);
	void (*thread_end)(void);
	/* Forgets cached names that nobody uses; -EOPNOTSUPP or -EPERM: cannot. */
	int (*drop_names)(struct fs *);

	int (*open)(struct fs_task *, const char *path, int flags, unsigned mode);
	int (*close)(struct fs_task *, int fd);
	ssize_t (*read)(struct fs_task *, int fd, void *to, size_t size);
	ssize_t (*write)(struct fs_task *, int fd, const void *from, size_t size);
	ssize_t (*pread)(struct fs_task *, int fd, void *to, size_t size, int64_t offset);
	ssize_t (*pwrite)(struct fs_task *, int fd, const void *from, size_t size, int64_t offset);
	int64_t (*lseek)(struct fs_task *, int fd, int64_t offset, int whence);
	int (*ftruncate)(struct fs_task *, int fd, int64_t size);
	int (*fsync)(struct fs_task *, int fd);
	int (*stat)(struct fs_task *, const char *path, struct fs_stat *);
	int (*lstat)(struct fs_task *, const char *path, struct fs_stat *);
	int (*fstat)(struct fs_task *, int fd, struct fs_stat *);
	int (*link)(struct fs_task *, const char *from, const char *to);
	int (*unlink)(struct fs_task *, const char *path);
	int (*rename)(struct fs_task *, const char *from, const char *to);
	int (*mkdir)(struct fs_task *, const char *path, unsigned mode);
	int (*rmdir)(struct fs_task *, const char *path);
	int (*symlink)(struct fs_task *, const char *target, const char *path);
	ssize_t (*readlink)(struct fs_task *, const char *path, char *to, size_t size);
	/* The next entries of a directory: how many, 0 at its end. */
	int (*readdir)(struct fs_task *, int fd);
	int (*pipe)(struct fs_task *, int fds[2]);
	/* Two connected stream sockets. */
	int (*socketpair)(struct fs_task *, int fds[2]);
	ssize_t (*send)(struct fs_task *, int fd, const void *from, size_t size);
	ssize_t (*recv)(struct fs_task *, int fd, void *to, size_t size);
};

extern const struct fs_calls fs_kernel, fs_kit;

#endif
