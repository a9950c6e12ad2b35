// SPDX-License-Identifier: MIT OR Apache-2.0
// A call that strace has printed, as a step.
#include "strace_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* How to read a call's arguments. The numbers are the places of paths and of directories' descriptors; -1: none. */
enum form { PATH, TWO_PATHS, ON_FD, OPEN, STAT_AT, UNLINK_AT, DUP, OTHER };

static const struct strace_shape {
	const char *name;
	enum form form;
	enum trace_call call;
	signed char directory, path;         /* OPEN: flags are behind the path */
	signed char other_directory, other;  /* TWO_PATHS */
	signed char size, offset;            /* ON_FD; size 0: what the result says */
} shapes[] = {
	{ "open", OPEN, TRACE_OPEN, -1, 0, 0, 0, 0, 0 },
	{ "openat", OPEN, TRACE_OPEN, 0, 1, 0, 0, 0, 0 },
	{ "creat", OPEN, TRACE_OPEN, -1, 0, 0, 0, 0, 0 },
	{ "close", OTHER, TRACE_CLOSE, 0, 0, 0, 0, 0, 0 },
	{ "read", ON_FD, TRACE_READ, 0, 0, 0, 0, 2, 0 },
	{ "write", ON_FD, TRACE_WRITE, 0, 0, 0, 0, 2, 0 },
	{ "readv", ON_FD, TRACE_READ, 0, 0, 0, 0, 0, 0 },
	{ "writev", ON_FD, TRACE_WRITE, 0, 0, 0, 0, 0, 0 },
	{ "pread64", ON_FD, TRACE_PREAD, 0, 0, 0, 0, 2, 3 },
	{ "pwrite64", ON_FD, TRACE_PWRITE, 0, 0, 0, 0, 2, 3 },
	{ "preadv", ON_FD, TRACE_PREAD, 0, 0, 0, 0, 0, 3 },
	{ "pwritev", ON_FD, TRACE_PWRITE, 0, 0, 0, 0, 0, 3 },
	{ "ftruncate", ON_FD, TRACE_FTRUNCATE, 0, 0, 0, 0, 1, 0 },
	{ "fsync", ON_FD, TRACE_FSYNC, 0, 0, 0, 0, 0, 0 },
	{ "fdatasync", ON_FD, TRACE_FSYNC, 0, 0, 0, 0, 0, 0 },
	{ "fstat", ON_FD, TRACE_FSTAT, 0, 0, 0, 0, 0, 0 },
	{ "getdents", ON_FD, TRACE_READDIR, 0, 0, 0, 0, 0, 0 },
	{ "getdents64", ON_FD, TRACE_READDIR, 0, 0, 0, 0, 0, 0 },
	{ "lseek", ON_FD, TRACE_LSEEK, 0, 0, 0, 0, 0, 1 },
	{ "stat", PATH, TRACE_STAT, -1, 0, 0, 0, 0, 0 },
	{ "lstat", PATH, TRACE_LSTAT, -1, 0, 0, 0, 0, 0 },
	{ "access", PATH, TRACE_STAT, -1, 0, 0, 0, 0, 0 },
	{ "faccessat", PATH, TRACE_STAT, 0, 1, 0, 0, 0, 0 },
	{ "faccessat2", PATH, TRACE_STAT, 0, 1, 0, 0, 0, 0 },
	{ "newfstatat", STAT_AT, TRACE_STAT, 0, 1, 0, 0, 0, 0 },
	{ "statx", STAT_AT, TRACE_STAT, 0, 1, 0, 0, 0, 0 },
	{ "unlink", PATH, TRACE_UNLINK, -1, 0, 0, 0, 0, 0 },
	{ "unlinkat", UNLINK_AT, TRACE_UNLINK, 0, 1, 0, 0, 0, 0 },
	{ "mkdir", PATH, TRACE_MKDIR, -1, 0, 0, 0, 0, 0 },
	{ "mkdirat", PATH, TRACE_MKDIR, 0, 1, 0, 0, 0, 0 },
	{ "rmdir", PATH, TRACE_RMDIR, -1, 0, 0, 0, 0, 0 },
	{ "readlink", PATH, TRACE_READLINK, -1, 0, 0, 0, 0, 0 },
	{ "readlinkat", PATH, TRACE_READLINK, 0, 1, 0, 0, 0, 0 },
	{ "link", TWO_PATHS, TRACE_LINK, -1, 0, -1, 1, 0, 0 },
	{ "linkat", TWO_PATHS, TRACE_LINK, 0, 1, 2, 3, 0, 0 },
	{ "rename", TWO_PATHS, TRACE_RENAME, -1, 0, -1, 1, 0, 0 },
	{ "renameat", TWO_PATHS, TRACE_RENAME, 0, 1, 2, 3, 0, 0 },
	{ "renameat2", TWO_PATHS, TRACE_RENAME, 0, 1, 2, 3, 0, 0 },
	{ "symlink", TWO_PATHS, TRACE_SYMLINK, -1, 1, -1, 0, 0, 0 },
	{ "symlinkat", TWO_PATHS, TRACE_SYMLINK, 1, 2, -1, 0, 0, 0 },
	{ "dup", DUP, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "dup2", DUP, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "dup3", DUP, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "fcntl", DUP, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "chdir", OTHER, TRACE_CALLS, -1, 0, 0, 0, 0, 0 },
	{ "fchdir", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "clone", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "clone3", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "fork", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "vfork", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
	{ "execve", OTHER, TRACE_CALLS, 0, 0, 0, 0, 0, 0 },
};

static struct strace_span argument(const struct strace_reader *r, int at)
{
	return at >= 0 && at < r->call.count ? r->call.arguments[at] : (struct strace_span){ "", 0 };
}

static int64_t number(const struct strace_reader *r, int at)
{
	int64_t value = 0;
	return strace_number(argument(r, at), &value) ? value : -1;
}

/* Where a relative path begins: AT_FDCWD, or a directory that is open. Null: not known. */
static const char *directory(struct strace_reader *r, int at)
{
	struct strace_span fd = argument(r, at), said = strace_annotation(fd);
	struct trace *trace = r->tasks.trace;
	if (said.length && *said.text == '/')
		return trace_path(trace, "/", said.text, said.length);
	if (at < 0 || strace_has(fd, "AT_FDCWD"))
		return r->task->cwd;
	int handle = strace_handle(r->task, number(r, at));
	return handle < 0 ? NULL : r->tasks.handles[handle].path;
}

static const char *path(struct strace_reader *r, int directory_at, int at)
{
	char text[PATH_MAX];
	long length = strace_string(argument(r, at), text, sizeof text);
	const char *from = length > 0 && *text == '/' ? "/" : directory(r, directory_at);
	return length > 0 && from ? trace_path(r->tasks.trace, from, text, (size_t)length) : NULL;
}

static struct trace_step *step(struct strace_reader *r, enum trace_call call)
{
	struct trace_step *step = trace_add(r->tasks.trace, call);
	r->tasks.no_memory |= !step;
	if (step)
		step->result = r->call.result;
	return step;
}

static int open_flags(struct strace_span text)
{
	static const struct {
		const char *name;
		int flag;
	} flags[] = { { "O_WRONLY", O_WRONLY }, { "O_RDWR", O_RDWR },	{ "O_CREAT", O_CREAT },
		      { "O_EXCL", O_EXCL },	{ "O_TRUNC", O_TRUNC }, { "O_APPEND", O_APPEND },
		      { "O_DIRECTORY", O_DIRECTORY }, { "O_NOFOLLOW", O_NOFOLLOW } };
	int all = 0;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		all |= strace_has(text, flags[i].name) ? flags[i].flag : 0;
	return all;
}

static bool read_open(struct strace_reader *r)
{
	const char *file = path(r, r->shape->directory, r->shape->path);
	struct strace_span flags = argument(r, r->shape->path + 1);
	bool creates = strace_is(r->call.name, "creat");
	if (!file)
		return false;
	int handle = r->call.result >= 0 ? strace_new_handle(&r->tasks, file) : -1;
	struct trace_step *open = step(r, TRACE_OPEN);
	if (!open)
		return true;
	open->path = file;
	open->flags = creates ? O_WRONLY | O_CREAT | O_TRUNC : open_flags(flags);
	open->handle = handle;
	if (handle >= 0)
		strace_set(&r->tasks, r->task, r->call.result, handle, strace_has(flags, "O_CLOEXEC"));
	return true;
}

static bool read_on_fd(struct strace_reader *r)
{
	int handle = strace_handle(r->task, number(r, 0));
	if (handle < 0) {
		r->tasks.trace->foreign++;
		return true;
	}
	if (r->shape->call != TRACE_LSEEK && r->call.result > TRACE_MOST_BYTES)
		return false;
	struct trace_step *on = step(r, r->shape->call);
	if (!on)
		return true;
	on->handle = handle;
	on->size = r->shape->size ? number(r, r->shape->size) : r->call.result;
	on->offset = r->shape->offset ? number(r, r->shape->offset) : 0;
	if (on->call == TRACE_LSEEK) {
		struct strace_span whence = argument(r, 2);
		strace_number(argument(r, 1), &on->offset);
		on->flags = strace_has(whence, "SEEK_CUR") ? SEEK_CUR : strace_has(whence, "SEEK_END") ? SEEK_END : SEEK_SET;
	} else if (on->size < 0 || on->offset < 0) {
		on->size = on->offset = 0;
	}
	return true;
}

static bool read_path(struct strace_reader *r)
{
	const char *file = path(r, r->shape->directory, r->shape->path);
	enum trace_call call = r->shape->call;
	if (r->shape->form == STAT_AT && strace_is(argument(r, r->shape->path), "\"\"")) {
		static const struct strace_shape fstat_shape = { .name = "fstat", .form = ON_FD, .call = TRACE_FSTAT };
		r->shape = &fstat_shape;
		return read_on_fd(r);
	}
	if (!file)
		return false;
	for (int i = 0; r->shape->form == STAT_AT && i < r->call.count; i++)
		call = strace_has(argument(r, i), "AT_SYMLINK_NOFOLLOW") ? TRACE_LSTAT : call;
	if (r->shape->form == UNLINK_AT && strace_has(argument(r, 2), "AT_REMOVEDIR"))
		call = TRACE_RMDIR;
	struct trace_step *at = step(r, call);
	if (at) {
		at->path = file;
		at->flags = 0777;
	}
	return true;
}

/* A target that is relative becomes absolute: from where its link is. */
static const char *target(struct strace_reader *r, const char *link)
{
	char text[PATH_MAX], folder[PATH_MAX];
	long length = strace_string(argument(r, r->shape->other), text, sizeof text);
	const char *slash = strrchr(link, '/');
	memcpy(folder, link, (size_t)(slash - link));
	folder[slash - link] = 0;
	return length > 0 ? trace_path(r->tasks.trace, folder, text, (size_t)length) : NULL;
}

static bool read_two_paths(struct strace_reader *r)
{
	const struct strace_shape *shape = r->shape;
	const char *file = path(r, shape->directory, shape->path);
	const char *other = !file			       ? NULL :
			    shape->call == TRACE_SYMLINK ? target(r, file) :
							     path(r, shape->other_directory, shape->other);
	if (!other)
		return false;
	struct trace_step *at = step(r, shape->call);
	if (at) {
		at->path = file;
		at->other = other;
	}
	return true;
}

static bool read_dup(struct strace_reader *r)
{
	int64_t from = number(r, 0), to = r->call.result;
	struct strace_span command = argument(r, 1);
	bool is_fcntl = strace_is(r->call.name, "fcntl"), on_exec = false;
	int handle = strace_handle(r->task, from);
	if (to < 0)
		return true;
	if (is_fcntl && strace_is(command, "F_SETFD")) {
		if (handle >= 0)
			r->task->fds->all[from].closes_on_exec = strace_has(argument(r, 2), "FD_CLOEXEC");
		return true;
	}
	if (is_fcntl && !strace_has(command, "F_DUPFD") && !strace_has(command, "F_DUPFD_CLOEXEC")) {
		trace_unknown(r->tasks.trace, "fcntl", 5);
		return true;
	}
	on_exec = strace_has(command, "F_DUPFD_CLOEXEC") || strace_has(argument(r, 2), "O_CLOEXEC");
	if (to != from)
		strace_set(&r->tasks, r->task, to, handle, on_exec);
	return true;
}

static bool read_other(struct strace_reader *r)
{
	struct strace_span name = r->call.name;
	if (strace_is(name, "close")) {
		int64_t fd = number(r, 0);
		r->tasks.trace->foreign += strace_handle(r->task, fd) < 0;
		strace_set(&r->tasks, r->task, fd, -1, false);
		return true;
	}
	if (r->call.result < 0)
		return true;
	if (strace_is(name, "chdir") || strace_is(name, "fchdir")) {
		const char *cwd = strace_is(name, "chdir") ? path(r, -1, 0) : directory(r, 0);
		if (cwd)
			r->task->cwd = cwd;
		return cwd;
	}
	if (strace_is(name, "execve")) {
		strace_executed(&r->tasks, r->task);
		return true;
	}
	bool shares = false;
	for (int i = 0; i < r->call.count; i++)
		shares |= strace_has(argument(r, i), "CLONE_FILES");
	if (r->call.result > 0)
		strace_child(&r->tasks, r->task->pid, r->call.result, shares);
	return true;
}

bool strace_read_call(struct strace_reader *r, struct strace_span text)
{
	struct trace *trace = r->tasks.trace;
	if (!strace_call(text, &r->call))
		return false;
	r->shape = NULL;
	for (size_t i = 0; !r->shape && i < sizeof shapes / sizeof *shapes; i++)
		r->shape = strace_is(r->call.name, shapes[i].name) ? &shapes[i] : NULL;
	if (!r->shape) {
		trace_unknown(trace, r->call.name.text, r->call.name.length);
		return true;
	}
	/* "= ?": it never returned, or is restarted, which is another line. */
	if (!r->call.known)
		return true;
	switch (r->shape->form) {
	case OPEN: return read_open(r);
	case ON_FD: return read_on_fd(r);
	case PATH:
	case STAT_AT:
	case UNLINK_AT: return read_path(r);
	case TWO_PATHS: return read_two_paths(r);
	case DUP: return read_dup(r);
	case OTHER: return read_other(r);
	}
	return false;
}
