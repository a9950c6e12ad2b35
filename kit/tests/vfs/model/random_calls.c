// SPDX-License-Identifier: MIT OR Apache-2.0
#include "random_calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_long(struct random_calls *r, char *path, size_t length)
{
	memset(path + strlen(path), 'n' + (int)below(r, 2), length);
}

static void add_component(struct random_calls *r, char *path)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "dir", "sub" };
	if (one_in(r, 12))
		strcat(path, one_in(r, 2) ? "." : "..");
	else if (one_in(r, 60))
		add_long(r, path, 254 + below(r, 3));
	else if (one_in(r, 30))
		add_long(r, path, 20 + below(r, 16));
	else
		strcat(path, names[below(r, 7)]);
}

// To what the model has, or to a name beside it.
static void make_known_path(struct random_calls *r, int task, int fd, char *path)
{
	const struct node *start = one_in(r, 4) ? NULL : random_start(&r->model->tasks[task], fd), *end;
	memset(path, 0, CF_PATH_MAX + 64);
	if (!start)
		strcat(path, "/");
	end = random_known_path(r, start ? start : r->model->root, path);
	if (!S_ISDIR(end->mode) ? one_in(r, 20) : one_in(r, 3) || !*path) {
		if (*path && path[strlen(path) - 1] != '/')
			strcat(path, "/");
		add_component(r, path);
	}
	if (one_in(r, 15))
		strcat(path, "/");
}

// A path of a few components; now and then one that is hostile.
static void make_path(struct random_calls *r, int task, int fd, char *path)
{
	int components = one_in(r, 3) ? 2 : one_in(r, 8) ? 3 : 1;
	if (r->model && !one_in(r, 4)) {
		make_known_path(r, task, fd, path);
		return;
	}
	memset(path, 0, CF_PATH_MAX + 64);
	if (one_in(r, 200))
		return;
	if (one_in(r, 300)) { // as long as may be, or longer
		size_t length = CF_PATH_MAX - 3 + below(r, 4);
		for (size_t i = 0; i < length; i++)
			path[i] = i % 2 ? '/' : '.';
		return;
	}
	if (one_in(r, 4))
		strcat(path, one_in(r, 5) ? "//" : "/");
	for (int i = 0; i < components; i++) {
		if (i)
			strcat(path, one_in(r, 10) ? "//" : "/");
		add_component(r, path);
	}
	if (one_in(r, 15))
		strcat(path, one_in(r, 4) ? "//" : "/");
}

static int open_flags(struct random_calls *r)
{
	int flags = (int)below(r, 3) | O_NONBLOCK;
	flags |= one_in(r, 2) ? O_CREAT : 0;
	flags |= one_in(r, 6) ? O_EXCL : 0;
	flags |= one_in(r, 5) ? O_TRUNC : 0;
	flags |= one_in(r, 5) ? O_APPEND : 0;
	flags |= one_in(r, 10) ? O_NOFOLLOW : 0;
	flags |= one_in(r, 10) ? O_NOATIME : 0;
	if (one_in(r, 5))
		flags = (flags & ~(one_in(r, 20) ? 0 : O_CREAT | O_ACCMODE | O_TRUNC)) | O_DIRECTORY;
	// O_EXCL alone is undefined.
	return flags & O_CREAT ? flags : flags & ~O_EXCL;
}

static uint32_t some_mode(struct random_calls *r)
{
	static const uint32_t modes[] = { 0777, 0755, 0644, 0666, 0700, 0600, 01777, 02777, 02755, 04755, 06711, 0, 0555, 02644 };
	return one_in(r, 2) ? 0777 : modes[below(r, 14)];
}

static int64_t some_offset(struct random_calls *r)
{
	int64_t offset = below(r, (uint32_t)r->largest);
	if (one_in(r, 3)) // about a page's end
		offset = offset / CF_PAGE * CF_PAGE + (int64_t)below(r, 3) - 1;
	if (r->rare_offsets && one_in(r, 40))
		offset = (int64_t)1 << (12 + below(r, 51)) | below(r, CF_PAGE);
	if (r->rare_offsets && one_in(r, 300))
		offset = INT64_MAX - below(r, 3);
	return one_in(r, 60) ? -1 - (int64_t)below(r, 3) : offset < 0 ? 0 : offset;
}

static void some_times(struct random_calls *r, struct call *c)
{
	static const int64_t special[] = { UTIME_NOW, UTIME_OMIT, 1000000000, -1 };
	bool both_now = one_in(r, 4);
	for (int i = 0; i < 2; i++) {
		c->times[i] = (struct cf_time){ (int64_t)below(r, 2000000000), (int64_t)below(r, 1000) * 1000 };
		if (both_now || one_in(r, 3))
			c->times[i].nsec = both_now ? UTIME_NOW : special[one_in(r, 10) ? 2 + below(r, 2) : below(r, 2)];
		if (r->rare_times && one_in(r, 10))
			c->times[i].sec = one_in(r, 2) ? -(int64_t)below(r, 2000000000) : (int64_t)below(r, UINT32_MAX) - INT64_MAX / (1 + below(r, 4));
	}
}

static enum op some_op(struct random_calls *r)
{
	// More of what makes and finds than of what fails mostly.
	static const enum op often[] = { OP_OPEN, OP_OPEN, OP_OPEN, OP_CLOSE, OP_CLOSE, OP_MKDIR, OP_MKDIR, OP_FSTATAT,
					 OP_FSTATAT, OP_WRITE, OP_WRITE, OP_PWRITE, OP_READ, OP_PREAD, OP_UNLINK, OP_RENAME,
					 OP_RENAME, OP_LINK, OP_SYMLINK, OP_FSTAT, OP_LSEEK, OP_READDIR };
	return one_in(r, 2) ? (enum op)below(r, OPS) : often[below(r, sizeof often / sizeof often[0])];
}

static int at_flags(struct random_calls *r, enum op op)
{
	switch (op) {
	case OP_UNLINK: return one_in(r, 3) ? AT_REMOVEDIR : 0;
	case OP_RENAME: return one_in(r, 8) ? 1 : 0;
	case OP_LINK: return one_in(r, 4) ? AT_SYMLINK_FOLLOW : 0;
	case OP_FSTATAT: return (one_in(r, 3) ? AT_SYMLINK_NOFOLLOW : 0) | (one_in(r, 20) ? AT_EMPTY_PATH : 0) |
				(one_in(r, 20) ? AT_NO_AUTOMOUNT : 0);
	case OP_CHOWN:
	case OP_ACCESS:
	case OP_UTIMENS: return (one_in(r, 4) ? AT_SYMLINK_NOFOLLOW : 0) | (one_in(r, 20) ? AT_EMPTY_PATH : 0);
	default: return 0;
	}
}

static int some_fd(struct random_calls *r, int task, int beyond)
{
	int fd = r->model && !one_in(r, 6) ? random_open_fd(r, &r->model->tasks[task]) : -1;
	return fd >= 0 ? fd : (int)below(r, (uint32_t)(r->fds + beyond));
}

void random_call(struct random_calls *r, struct call *c)
{
	static const uint32_t types[] = { S_IFREG, S_IFIFO, S_IFSOCK, 0 };
	static const uint32_t ids[] = { 0, 1000, 1001, 50, UINT32_MAX };
	*c = (struct call){ .op = some_op(r), .task = (int)below(r, MODEL_TASKS), .path = r->path, .path2 = r->path2 };
	if (r->model && random_has_many(r, &r->model->tasks[c->task]))
		c->op = OP_CLOSE;
	bool by_fd = (c->op != OP_OPEN && c->op != OP_TRUNCATE && c->op <= OP_READDIR) || c->op == OP_FSTAT ||
		     c->op == OP_FCHMOD || c->op == OP_FCHOWN || c->op == OP_FCHDIR;
	bool by_path = c->op == OP_TRUNCATE || c->op == OP_CHDIR || c->op == OP_STATVFS;
	c->fd = by_path || (!by_fd && !one_in(r, 6)) ? -100 : some_fd(r, c->task, 1);
	c->fd2 = c->op == OP_DUP2 ? some_fd(r, c->task, 2) - 1 : one_in(r, 6) ? some_fd(r, c->task, 0) : -100;
	make_path(r, c->task, c->fd, r->path);
	make_path(r, c->task, c->fd2, r->path2);
	c->flags = c->op == OP_OPEN ? open_flags(r) : c->op == OP_LSEEK ? (int)below(r, 6) : at_flags(r, c->op);
	if (c->op >= OP_FSTATAT && c->op != OP_UNLINK && (c->flags & AT_EMPTY_PATH) && !one_in(r, 3))
		*r->path = '\0';
	c->mode = some_mode(r);
	if (c->op == OP_MKNOD)
		c->mode |= types[below(r, 4)];
	if (c->op == OP_ACCESS)
		c->mode = below(r, 8);
	if (c->op == OP_UMASK)
		c->mode = (uint32_t[]){ 022, 0, 077, 02 }[below(r, 4)];
	c->uid = ids[below(r, 5)];
	c->gid = c->uid == UINT32_MAX ? ids[below(r, 4)] : ids[below(r, 5)];
	c->offset = some_offset(r);
	c->size = c->op == OP_READLINK ? below(r, 300) : one_in(r, 10) ? below(r, CALL_BYTES) : below(r, 600);
	c->fill = (uint8_t)below(r, 256);
	some_times(r, c);
	if (by_fd)
		c->path = NULL;
	if (c->op == OP_UTIMENS && one_in(r, 4)) {
		c->path = NULL;
		c->flags = 0;
		c->fd = (int)below(r, (uint32_t)r->fds);
	}
}
