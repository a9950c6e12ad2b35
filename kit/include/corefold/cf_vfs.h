/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_vfs.h: a file system in memory with POSIX's calls, whose first argument is a task: credentials, working directory,
 * umask and descriptors are the task's, not the thread's. So a server can act for many clients.
 *
 * Choose it to have files inside one process, or dentry and inode caches above a store of your own (cf_backend.h).
 *
 * Cost:
 *   stat           Stores nothing to shared memory if the path is in the dentry cache. Of a directory in memory it reads one
 *                  line of each of the directory's 16 parts.
 *   open, close    Count a reference on the inode in a table of this CPU (2 KiB per CPU); store to no line of inode or
 *                  dentry. open takes the lowest descriptor, under one lock per task; with CF_O_ANYFD, any from this CPU's
 *                  part of the task's table. The removal of a file's last name reads a line of each CPU that has opened files
 *                  by name.
 *   changes of     link, unlink and rename store to the inode. In memory they lock one of the directory's parts, by a hash
 *     names        of the name; readdir and rmdir lock all. Other backends hold the directory's semaphore. Calls that fail
 *                  because the dentry cache says that a name exists, or does not, store nothing.
 *   pread, pwrite  Within an existing page, pread stores nothing but an access time that is due; pwrite writes that page, and
 *                  times once per clock tick. Neither shares a line with a write that extends the file.
 *   space          Cached dentries (up to 2^20 before unused ones are dropped) are charged to `bytes`, and freed when space
 *                  is needed. Open files are not charged, so that files on a full file system can be opened to be read or
 *                  truncated; the task's number of descriptors limits them.
 *
 *   operation                      may overlap                                  progress
 *   cf_vfs_new, cf_vfs_free        nothing; free: after all its tasks           as malloc
 *   cf_task_new, cf_task_free      everything; free: no call of that task       as malloc
 *   every other call               everything, also of the same task            blocks on locks of the files that it changes
 *
 * Every call returns 0 or more, or a negative errno: what Linux returns for the same call on tmpfs (tests/vfs/kernel_compare.c
 * compares them). Deviations: directory positions are hashes of names, so they stay valid when names are added or removed;
 * a hard link costs no inode; a rename that has two errors may return either; pipes and sockets cost bytes
 * (CF_CHARGE_STREAM), without which pipe returns -ENFILE, socketpair -ENOBUFS and open of a FIFO -ENOMEM; access times are
 * updated as with relatime, a symbolic link's by readlink alone; times range from 1677 to 2262; truncate to the current size
 * updates the times, as POSIX says; if the clock is set back, ctimes and directories' mtimes stay at the later time; O_DIRECT,
 * O_PATH, O_TMPFILE, access mode 3, RENAME_EXCHANGE and linkat's AT_EMPTY_PATH are -EINVAL; extended attributes and ACLs
 * -EOPNOTSUPP; file locks -EINVAL, as POSIX says of a file that cannot be locked; mounts -ENODEV. There is no mmap, fallocate,
 * fdatasync or preadv.
 *
 * Guarantees:
 *   1. A failed call makes no change that another call can see. (A partial write has not failed: it returns the bytes written.)
 *      (tests/vfs/property.c)
 *   2. Accounting of bytes and inodes is exact: free = initial - what files, names, holes and streams use.
 *      (tests/vfs/calls.c, "every byte comes back") Space used only by caches counts as free, in statvfs and for allocations.
 *      (tests/vfs/one_limit.c)
 *   3. Each call takes effect at one moment between its begin and its end.  (tests/explore/vfs_histories.c) Exceptions, as
 *      in Linux: a path is walked component by component, with the links of that moment, and the file found may be renamed
 *      before link, truncate, chmod and the like change it; O_TRUNC takes effect after the open itself; a read or write of
 *      several pages may be seen page by page, and a directory that is read by several calls as it is at each; times, link
 *      counts and sizes of directories may change a moment before or after the change that they belong to; a call on a
 *      descriptor acts on the file that it has found, even if the descriptor is closed meanwhile; a new descriptor is
 *      reserved before it is open, and -EBADF (dup2: -EBUSY) in between; a call that fails may have held a descriptor,
 *      space or an inode for a moment; CF_O_ANYFD may return -EMFILE during a concurrent close.
 *   4. A file lives until its last name is removed and its last descriptor closed.
 *
 * Lifetime: threads that make calls, cf_vfs_new to cf_vfs_free, must be known to RCU: cf_rcu_register_thread, unless built with
 * CF_RCU_BP. Nothing tells if one is not: memory that it reads may be freed. The calls make cf_rcu_relax themselves.
 *
 * Five lines, in a thread that has called cf_rcu_register_thread:
 *   cf_vfs_new(&fs, NULL);
 *   cf_task_new(&task, fs, NULL);
 *   fd = cf_vfs_open(task, "/greeting", O_CREAT | O_WRONLY, 0644);
 *   cf_vfs_write(task, fd, "hello\n", 6);
 *   cf_vfs_close(task, fd);
 *
 * Source: behaviour of POSIX.1-2017 and of Linux's fs/namei.c and mm/shmem.c.
 */
#ifndef COREFOLD_CF_VFS_H
#define COREFOLD_CF_VFS_H

#include <corefold/cf_vfs_types.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

struct cf_vfs;
struct cf_task;
struct cf_cred;
struct cf_backend;

struct cf_vfs_options {
	int64_t bytes;      /* for pages, names, inodes, holes, streams and cached dentries; 0: no limit */
	int64_t inodes;     /* 0: no limit */
	uint32_t uid, gid;  /* of the root directory */
	uint32_t mode;      /* of the root directory; 0: 0755 */
	struct cf_time (*clock)(void *); /* null: CLOCK_REALTIME_COARSE */
	void *clock_argument;
	const struct cf_backend *backend; /* null: memory */
	void *backend_argument;
};

/* 0, -EINVAL (limits below 0 or above 2^60, a bad mode), -ENOMEM, -ENOSPC (no room for the root directory), or the backend's errno. */
int cf_vfs_new(struct cf_vfs **vfs, const struct cf_vfs_options *options);
/* Drops all caches and all files. */
void cf_vfs_free(struct cf_vfs *vfs);
/*
 * Frees up to that many unused dentries and inodes; returns how many. Unmaps empty slabs; memory of what this call frees is
 * unmapped by the next call, after a grace period.
 */
int64_t cf_vfs_shrink(struct cf_vfs *vfs, int64_t count);

struct cf_vfs_usage {
	int64_t dentries; /* that exist, cached or in use */
	int64_t charged;  /* bytes charged for cached dentries; they count as free */
	int64_t memory;   /* bytes of slabs of dentries, inodes, open files and directory entries, free objects included */
};

/* By sums: exact when nothing is under way. */
void cf_vfs_usage(struct cf_vfs *vfs, struct cf_vfs_usage *usage);

/* Descriptors of a task: the default limit, and the largest that cf_task_limit accepts. */
enum { CF_TASK_LIMIT = 1024, CF_TASK_FDS = 65536 };

/* cred (cf_dcache.h), which is copied; null: uid and gid 0. The working directory is the root, the umask 022. 0 or -ENOMEM. */
int cf_task_new(struct cf_task **task, struct cf_vfs *vfs, const struct cf_cred *cred);
/* Closes its descriptors. */
void cf_task_free(struct cf_task *task);
/* Limits descriptors, as RLIMIT_NOFILE: those above stay open. Must not overlap another for this task. 0 or -EINVAL. */
int cf_task_limit(struct cf_task *task, int descriptors);
/* May not overlap other calls of this task. 0 or -ENOMEM. */
int cf_task_cred(struct cf_task *task, const struct cf_cred *cred);
/* Returns the old one. */
uint32_t cf_vfs_umask(struct cf_task *task, uint32_t mask);

/* Flags and modes are those of <fcntl.h> and <sys/stat.h> on x86-64 Linux. */
#define CF_AT_FDCWD (-100)
#define CF_O_ANYFD 0x40000000 /* for open, dup, pipe and socketpair: any free descriptor, not the lowest */

int cf_vfs_openat(struct cf_task *task, int dir, const char *path, int flags, uint32_t mode);
int cf_vfs_close(struct cf_task *task, int fd);
int cf_vfs_dup(struct cf_task *task, int fd, int flags);
int cf_vfs_dup2(struct cf_task *task, int from, int to);
int cf_vfs_pipe(struct cf_task *task, int fds[2], int flags);
/* A pair of connected byte streams, with an inode each. */
int cf_vfs_socketpair(struct cf_task *task, int fds[2], int flags);

int64_t cf_vfs_read(struct cf_task *task, int fd, void *to, size_t size);
int64_t cf_vfs_write(struct cf_task *task, int fd, const void *from, size_t size);
int64_t cf_vfs_pread(struct cf_task *task, int fd, void *to, size_t size, int64_t offset);
int64_t cf_vfs_pwrite(struct cf_task *task, int fd, const void *from, size_t size, int64_t offset);
int64_t cf_vfs_lseek(struct cf_task *task, int fd, int64_t offset, int whence);
int cf_vfs_ftruncate(struct cf_task *task, int fd, int64_t size);
int cf_vfs_truncate(struct cf_task *task, const char *path, int64_t size);
int cf_vfs_fsync(struct cf_task *task, int fd);

/* Up to `most` entries, at least 1 (else -EINVAL), from the descriptor's position on; returns how many, 0 at the end. */
int cf_vfs_readdir(struct cf_task *task, int fd, struct cf_dirent *entries, int most);

/* flags: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_NO_AUTOMOUNT, which has no effect. */
int cf_vfs_fstatat(struct cf_task *task, int dir, const char *path, struct cf_stat *stat, int flags);
int cf_vfs_fstat(struct cf_task *task, int fd, struct cf_stat *stat);
int cf_vfs_statvfs(struct cf_task *task, const char *path, struct cf_statvfs *stat);

/* flags: AT_SYMLINK_FOLLOW. */
int cf_vfs_linkat(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, int flags);
int cf_vfs_unlinkat(struct cf_task *task, int dir, const char *path, int flags); /* AT_REMOVEDIR */
/* flags: RENAME_NOREPLACE. */
int cf_vfs_renameat(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int cf_vfs_mkdirat(struct cf_task *task, int dir, const char *path, uint32_t mode);
/* S_IFREG, S_IFIFO or S_IFSOCK; others are -EPERM. */
int cf_vfs_mknodat(struct cf_task *task, int dir, const char *path, uint32_t mode);
int cf_vfs_symlinkat(struct cf_task *task, const char *target, int dir, const char *path);
/* Without a terminating null; returns the length. */
int64_t cf_vfs_readlinkat(struct cf_task *task, int dir, const char *path, char *to, size_t size);

int cf_vfs_fchmodat(struct cf_task *task, int dir, const char *path, uint32_t mode);
int cf_vfs_fchmod(struct cf_task *task, int fd, uint32_t mode);
/* UINT32_MAX leaves an owner as it is. flags, here and below: AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH. */
int cf_vfs_fchownat(struct cf_task *task, int dir, const char *path, uint32_t uid, uint32_t gid, int flags);
int cf_vfs_fchown(struct cf_task *task, int fd, uint32_t uid, uint32_t gid);
/* times null: now. nsec may be UTIME_NOW or UTIME_OMIT. path null: of the descriptor `dir`, and no flags. */
int cf_vfs_utimensat(struct cf_task *task, int dir, const char *path, const struct cf_time times[2], int flags);
/* flags: AT_EACCESS, too, which has no effect: a task has one set of credentials. */
int cf_vfs_faccessat(struct cf_task *task, int dir, const char *path, int mode, int flags);
int cf_vfs_chdir(struct cf_task *task, const char *path);
int cf_vfs_fchdir(struct cf_task *task, int fd);

/* Not supported by this file system. */
int cf_vfs_setxattr(struct cf_task *task, const char *path, const char *name, const void *value, size_t size);
int64_t cf_vfs_getxattr(struct cf_task *task, const char *path, const char *name, void *value, size_t size);
int cf_vfs_lock(struct cf_task *task, int fd, int operation);
int cf_vfs_mount(struct cf_task *task, const char *source, const char *target);

static inline int cf_vfs_open(struct cf_task *task, const char *path, int flags, uint32_t mode)
{
	return cf_vfs_openat(task, CF_AT_FDCWD, path, flags, mode);
}

static inline int cf_vfs_stat(struct cf_task *task, const char *path, struct cf_stat *stat)
{
	return cf_vfs_fstatat(task, CF_AT_FDCWD, path, stat, 0);
}

static inline int cf_vfs_lstat(struct cf_task *task, const char *path, struct cf_stat *stat)
{
	return cf_vfs_fstatat(task, CF_AT_FDCWD, path, stat, 0x100 /* AT_SYMLINK_NOFOLLOW */);
}

static inline int cf_vfs_unlink(struct cf_task *task, const char *path)
{
	return cf_vfs_unlinkat(task, CF_AT_FDCWD, path, 0);
}

static inline int cf_vfs_rmdir(struct cf_task *task, const char *path)
{
	return cf_vfs_unlinkat(task, CF_AT_FDCWD, path, 0x200 /* AT_REMOVEDIR */);
}

static inline int cf_vfs_link(struct cf_task *task, const char *from, const char *to)
{
	return cf_vfs_linkat(task, CF_AT_FDCWD, from, CF_AT_FDCWD, to, 0);
}

static inline int cf_vfs_rename(struct cf_task *task, const char *from, const char *to)
{
	return cf_vfs_renameat(task, CF_AT_FDCWD, from, CF_AT_FDCWD, to, 0);
}

static inline int cf_vfs_mkdir(struct cf_task *task, const char *path, uint32_t mode)
{
	return cf_vfs_mkdirat(task, CF_AT_FDCWD, path, mode);
}

static inline int cf_vfs_symlink(struct cf_task *task, const char *target, const char *path)
{
	return cf_vfs_symlinkat(task, target, CF_AT_FDCWD, path);
}

CF_EXTERN_END

#endif
