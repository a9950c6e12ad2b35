// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FDS = 256, NOWHERE = 100000 };

struct kernel {
	int fds, task;
	struct cred creds[MODEL_TASKS];
	uint32_t umask[MODEL_TASKS];
	int cwd[MODEL_TASKS];
	int real[MODEL_TASKS][FDS]; // 0: free
};

// A change to another user, for file accesses only: it needs CAP_SETUID, which it leaves alone.
static void become(struct kernel *k, int task)
{
	gid_t groups[4];
	const struct cred *cred = &k->creds[task];
	umask(k->umask[task]);
	if (k->task == task)
		return;
	k->task = task;
	for (uint32_t i = 0; i < cred->group_count; i++)
		groups[i] = cred->groups[i];
	setfsuid(0);
	if (fchdir(k->cwd[task]) || setgroups(cred->group_count, groups))
		abort();
	setfsgid(cred->gid);
	setfsuid(cred->uid);
}

struct kernel *kernel_new(const struct cred creds[MODEL_TASKS], uint32_t root_mode, int fds, const char **why)
{
	static struct kernel kernel;
	*why = "it needs the right to mount and to change users";
	// Over /tmp, as seen from here alone: no directory is left behind.
	if (geteuid() || unshare(CLONE_NEWNS | CLONE_FS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) || chroot("/tmp") || chdir("/") || chmod("/", root_mode))
		return NULL;
	memset(&kernel, 0, sizeof kernel);
	kernel.fds = fds;
	kernel.task = -1;
	for (int i = 0; i < MODEL_TASKS; i++) {
		kernel.creds[i] = creds[i];
		kernel.umask[i] = 022;
		kernel.cwd[i] = open("/", O_PATH | O_DIRECTORY);
	}
	return &kernel;
}

static int real_fd(const struct kernel *k, int fd)
{
	if (fd == AT_FDCWD)
		return fd;
	return fd >= 0 && fd < k->fds && k->real[k->task][fd] ? k->real[k->task][fd] : NOWHERE;
}

// The lowest number for a new descriptor.
static int64_t add_fd(struct kernel *k, int real)
{
	int fd = 0;
	if (real < 0)
		return -errno;
	while (k->real[k->task][fd])
		fd++;
	if (fd >= k->fds)
		abort(); // the caller of the comparison gives it enough
	k->real[k->task][fd] = real;
	return fd;
}

static int64_t answer(int64_t value)
{
	return value < 0 ? -errno : value;
}

static struct cf_time time_of(const struct timespec *t)
{
	return (struct cf_time){ t->tv_sec, t->tv_nsec };
}

static int64_t stat_call(struct kernel *k, const struct call *c, struct result *r)
{
	struct stat s;
	int failed = c->op == OP_FSTAT ? fstat(real_fd(k, c->fd), &s) : fstatat(real_fd(k, c->fd), c->path, &s, c->flags);
	if (failed)
		return -errno;
	r->stat = (struct cf_stat){ .ino = s.st_ino, .mode = s.st_mode, .nlink = (uint32_t)s.st_nlink, .uid = s.st_uid,
				    .gid = s.st_gid, .size = s.st_size, .blocks = s.st_blocks, .atime = time_of(&s.st_atim),
				    .mtime = time_of(&s.st_mtim), .ctime = time_of(&s.st_ctim) };
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct dirent *const *)a)->d_name, (*(struct dirent *const *)b)->d_name);
}

static int64_t read_directory(struct kernel *k, const struct call *c, struct result *r)
{
	static char bytes[1 << 20];
	static struct dirent *found[10000];
	int fd = real_fd(k, c->fd);
	int64_t count = 0, names = 0, used = 0, got;
	struct stat s;
	if (fstat(fd, &s))
		return -errno;
	if (!S_ISDIR(s.st_mode))
		return -ENOTDIR;
	lseek(fd, 0, SEEK_SET);
	while ((got = syscall(SYS_getdents64, fd, bytes + used, sizeof bytes - (size_t)used)) > 0)
		for (int64_t end = used + got; used < end; count++) {
			struct dirent *entry = (struct dirent *)(bytes + used);
			used += entry->d_reclen;
			if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
				found[names++] = entry;
		}
	if (got < 0)
		return -errno;
	qsort(found, (size_t)names, sizeof found[0], by_name);
	r->bytes = HASH_START;
	for (int64_t i = 0; i < names; i++) {
		uint32_t type = DTTOIF(found[i]->d_type);
		r->bytes = hash_bytes(r->bytes, found[i]->d_name, strlen(found[i]->d_name) + 1);
		r->bytes = hash_bytes(r->bytes, &type, sizeof type);
	}
	return count;
}

static int64_t transfer(struct kernel *k, const struct call *c, struct result *r)
{
	static uint8_t bytes[CALL_BYTES];
	int fd = real_fd(k, c->fd);
	int64_t done;
	if (c->op == OP_READ || c->op == OP_PREAD)
		done = c->op == OP_READ ? read(fd, bytes, c->size) : pread(fd, bytes, c->size, c->offset);
	else {
		fill_bytes(c, bytes);
		return answer(c->op == OP_WRITE ? write(fd, bytes, c->size) : pwrite(fd, bytes, c->size, c->offset));
	}
	if (done > 0)
		r->bytes = hash_bytes(HASH_START, bytes, (size_t)done);
	return answer(done);
}

static int64_t link_text(struct kernel *k, const struct call *c, struct result *r)
{
	static char text[CALL_BYTES];
	int64_t length = readlinkat(real_fd(k, c->fd), c->path, text, c->size);
	if (length > 0)
		r->bytes = hash_bytes(HASH_START, text, (size_t)length);
	return answer(length);
}

static int64_t close_call(struct kernel *k, const struct call *c)
{
	int fd = real_fd(k, c->fd);
	if (fd == NOWHERE)
		return -EBADF;
	k->real[k->task][c->fd] = 0;
	return answer(close(fd));
}

static int64_t duplicate_to(struct kernel *k, const struct call *c)
{
	int from = real_fd(k, c->fd), old = real_fd(k, c->fd2);
	if (from == NOWHERE || c->fd2 < 0 || c->fd2 >= k->fds)
		return -EBADF;
	if (c->fd == c->fd2)
		return c->fd;
	k->real[k->task][c->fd2] = dup(from);
	if (old != NOWHERE)
		close(old);
	return c->fd2;
}

static int64_t pipe_call(struct kernel *k, struct result *r)
{
	int fds[2];
	if (pipe2(fds, O_NONBLOCK))
		return -errno;
	r->fds[0] = (int)add_fd(k, fds[0]);
	r->fds[1] = (int)add_fd(k, fds[1]);
	return 0;
}

static int64_t times_call(struct kernel *k, const struct call *c)
{
	struct timespec t[2];
	for (int i = 0; i < 2; i++)
		t[i] = (struct timespec){ c->times[i].sec, c->times[i].nsec };
	return answer(syscall(SYS_utimensat, real_fd(k, c->fd), c->path, t, c->path ? c->flags : 0));
}

// Where the task is now.
static int64_t change_directory(struct kernel *k, const struct call *c)
{
	int failed = c->op == OP_CHDIR ? chdir(c->path) : fchdir(real_fd(k, c->fd));
	if (failed)
		return -errno;
	close(k->cwd[k->task]);
	setfsuid(0);
	k->cwd[k->task] = open(".", O_PATH | O_DIRECTORY);
	setfsuid(k->creds[k->task].uid);
	return 0;
}

static int64_t umask_call(struct kernel *k, const struct call *c)
{
	int64_t old = k->umask[k->task];
	k->umask[k->task] = c->mode & 0777;
	return old;
}

static int64_t call_on_fds(struct kernel *k, const struct call *c, struct result *r)
{
	int fd = real_fd(k, c->fd);
	switch (c->op) {
	case OP_OPEN: return add_fd(k, openat(fd, c->path, c->flags, c->mode));
	case OP_CLOSE: return close_call(k, c);
	case OP_DUP: return add_fd(k, dup(fd));
	case OP_DUP2: return duplicate_to(k, c);
	case OP_PIPE: return pipe_call(k, r);
	case OP_READ:
	case OP_WRITE:
	case OP_PREAD:
	case OP_PWRITE: return transfer(k, c, r);
	case OP_LSEEK: return answer(lseek(fd, c->offset, c->flags));
	case OP_FTRUNCATE: return answer(ftruncate(fd, c->offset));
	case OP_TRUNCATE: return answer(truncate(c->path, c->offset));
	case OP_FSYNC: return answer(fsync(fd));
	default: return read_directory(k, c, r);
	}
}

static int64_t call_on_names(struct kernel *k, const struct call *c, struct result *r)
{
	struct statfs unused;
	int fd = real_fd(k, c->fd), fd2 = real_fd(k, c->fd2);
	switch (c->op) {
	case OP_FSTATAT:
	case OP_FSTAT: return stat_call(k, c, r);
	case OP_STATVFS: return answer(statfs(c->path, &unused));
	case OP_LINK: return answer(linkat(fd, c->path, fd2, c->path2, c->flags));
	case OP_UNLINK: return answer(unlinkat(fd, c->path, c->flags));
	case OP_RENAME: return answer(renameat2(fd, c->path, fd2, c->path2, (unsigned)c->flags));
	case OP_MKDIR: return answer(mkdirat(fd, c->path, c->mode));
	case OP_MKNOD: return answer(mknodat(fd, c->path, c->mode, 0));
	case OP_SYMLINK: return answer(symlinkat(c->path2, fd, c->path));
	case OP_READLINK: return link_text(k, c, r);
	case OP_CHMOD: return answer(fchmodat(fd, c->path, c->mode, 0));
	case OP_FCHMOD: return answer(fchmod(fd, c->mode));
	case OP_CHOWN: return answer(fchownat(fd, c->path, c->uid, c->gid, c->flags));
	case OP_FCHOWN: return answer(fchown(fd, c->uid, c->gid));
	case OP_UTIMENS: return times_call(k, c);
	case OP_ACCESS: return answer(syscall(SYS_faccessat2, fd, c->path, c->mode, c->flags | AT_EACCESS));
	case OP_UMASK: return umask_call(k, c);
	default: return change_directory(k, c);
	}
}

void kernel_call(void *self, const struct call *c, struct result *r)
{
	struct kernel *k = self;
	memset(r, 0, sizeof *r);
	become(k, c->task);
	r->value = c->op <= OP_READDIR ? call_on_fds(k, c, r) : call_on_names(k, c, r);
}
