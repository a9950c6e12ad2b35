// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ours.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct cf_time tell(void *argument)
{
	const struct ours *o = argument;
	return *o->now;
}

int ours_new(struct ours *o, const struct model_options *options, const struct cf_time *now, char *directory)
{
	struct cf_vfs_options own = { .bytes = options->bytes, .inodes = options->inodes, .mode = options->root_mode };
	int error;
	*o = (struct ours){ .now = now };
	own.clock = now ? tell : NULL;
	own.clock_argument = o;
	own.backend = directory ? &cf_backend_directory : NULL;
	own.backend_argument = directory;
	error = cf_vfs_new(&o->vfs, &own);
	for (int i = 0; i < MODEL_TASKS && !error; i++) {
		const struct cred *c = &options->creds[i];
		struct cf_cred cred = { .uid = c->uid, .gid = c->gid, .groups = c->groups, .group_count = c->group_count };
		error = cf_task_new(&o->tasks[i], o->vfs, &cred);
		if (!error)
			error = cf_task_limit(o->tasks[i], options->fds);
	}
	return error;
}

void ours_free(struct ours *o)
{
	for (int i = 0; i < MODEL_TASKS; i++)
		cf_task_free(o->tasks[i]);
	cf_vfs_free(o->vfs);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cf_dirent *)a)->name, ((const struct cf_dirent *)b)->name);
}

// A few at a time, so that positions are used; or by one call, of as many as `flags` says, which sees one moment.
static int64_t read_directory(struct cf_task *t, const struct call *c, struct result *r)
{
	static _Thread_local struct cf_dirent found[2000];
	int count = 0, names = 0, got;
	cf_vfs_lseek(t, c->fd, 0, SEEK_SET);
	while ((got = cf_vfs_readdir(t, c->fd, found + names, c->flags ? c->flags : 7)) > 0) {
		count += got;
		for (int i = names, end = names + got; i < end; i++)
			if (strcmp(found[i].name, ".") && strcmp(found[i].name, ".."))
				found[names++] = found[i];
		if (c->flags)
			break;
	}
	if (got < 0)
		return got;
	qsort(found, (size_t)names, sizeof found[0], by_name);
	r->bytes = HASH_START;
	for (int i = 0; i < names; i++) {
		r->bytes = hash_bytes(r->bytes, found[i].name, strlen(found[i].name) + 1);
		r->bytes = hash_bytes(r->bytes, &found[i].type, sizeof found[i].type);
	}
	return count;
}

static int64_t read_all(struct cf_task *t, const struct call *c, struct result *r)
{
	struct cf_stat s;
	if (cf_vfs_fstat(t, c->fd, &s))
		return -EBADF;
	return S_ISDIR(s.mode) ? read_directory(t, c, r) : -ENOTDIR; // lseek would move a file's position
}

static int64_t transfer(struct cf_task *t, const struct call *c, struct result *r)
{
	static _Thread_local uint8_t bytes[CALL_BYTES];
	int64_t done;
	if (c->op == OP_WRITE || c->op == OP_PWRITE) {
		fill_bytes(c, bytes);
		return c->op == OP_WRITE ? cf_vfs_write(t, c->fd, bytes, c->size) :
					   cf_vfs_pwrite(t, c->fd, bytes, c->size, c->offset);
	}
	done = c->op == OP_READ ? cf_vfs_read(t, c->fd, bytes, c->size) : cf_vfs_pread(t, c->fd, bytes, c->size, c->offset);
	if (done > 0)
		r->bytes = hash_bytes(HASH_START, bytes, (size_t)done);
	return done;
}

static int64_t link_text(struct cf_task *t, const struct call *c, struct result *r)
{
	char text[CF_PATH_MAX];
	int64_t length = cf_vfs_readlinkat(t, c->fd, c->path, text, c->size < sizeof text ? c->size : sizeof text);
	if (length > 0)
		r->bytes = hash_bytes(HASH_START, text, (size_t)length);
	else if (length == 0)
		r->bytes = HASH_START;
	return length;
}

static int64_t call_on_fds(struct ours *o, struct cf_task *t, const struct call *c, struct result *r)
{
	int any = o->any_fd ? CF_O_ANYFD : 0;
	switch (c->op) {
	case OP_OPEN: return cf_vfs_openat(t, c->fd, c->path, c->flags | any, c->mode);
	case OP_CLOSE: return cf_vfs_close(t, c->fd);
	case OP_DUP: return cf_vfs_dup(t, c->fd, any | c->flags);
	case OP_DUP2: return cf_vfs_dup2(t, c->fd, c->fd2);
	case OP_PIPE: return cf_vfs_pipe(t, r->fds, O_NONBLOCK | any);
	case OP_LSEEK: return cf_vfs_lseek(t, c->fd, c->offset, c->flags);
	case OP_FTRUNCATE: return cf_vfs_ftruncate(t, c->fd, c->offset);
	case OP_TRUNCATE: return cf_vfs_truncate(t, c->path, c->offset);
	case OP_FSYNC: return cf_vfs_fsync(t, c->fd);
	case OP_READDIR: return read_all(t, c, r);
	default: return transfer(t, c, r);
	}
}

static int64_t call_on_names(struct cf_task *t, const struct call *c, struct result *r)
{
	switch (c->op) {
	case OP_FSTATAT: return cf_vfs_fstatat(t, c->fd, c->path, &r->stat, c->flags);
	case OP_FSTAT: return cf_vfs_fstat(t, c->fd, &r->stat);
	case OP_STATVFS: return cf_vfs_statvfs(t, c->path, &r->space);
	case OP_LINK: return cf_vfs_linkat(t, c->fd, c->path, c->fd2, c->path2, c->flags);
	case OP_UNLINK: return cf_vfs_unlinkat(t, c->fd, c->path, c->flags);
	case OP_RENAME: return cf_vfs_renameat(t, c->fd, c->path, c->fd2, c->path2, (unsigned)c->flags);
	case OP_MKDIR: return cf_vfs_mkdirat(t, c->fd, c->path, c->mode);
	case OP_MKNOD: return cf_vfs_mknodat(t, c->fd, c->path, c->mode);
	case OP_SYMLINK: return cf_vfs_symlinkat(t, c->path2, c->fd, c->path);
	case OP_READLINK: return link_text(t, c, r);
	case OP_CHMOD: return cf_vfs_fchmodat(t, c->fd, c->path, c->mode);
	case OP_FCHMOD: return cf_vfs_fchmod(t, c->fd, c->mode);
	case OP_CHOWN: return cf_vfs_fchownat(t, c->fd, c->path, c->uid, c->gid, c->flags);
	case OP_FCHOWN: return cf_vfs_fchown(t, c->fd, c->uid, c->gid);
	case OP_UTIMENS: return cf_vfs_utimensat(t, c->fd, c->path, c->times, c->flags);
	case OP_ACCESS: return cf_vfs_faccessat(t, c->fd, c->path, (int)c->mode, c->flags);
	case OP_CHDIR: return cf_vfs_chdir(t, c->path);
	case OP_FCHDIR: return cf_vfs_fchdir(t, c->fd);
	default: return cf_vfs_umask(t, c->mode);
	}
}

void ours_call(void *self, const struct call *c, struct result *r)
{
	struct ours *o = self;
	struct cf_task *t = o->tasks[c->task];
	memset(r, 0, sizeof *r);
	r->value = c->op <= OP_READDIR ? call_on_fds(o, t, c, r) : call_on_names(t, c, r);
	if (r->value < 0 && c->op == OP_PIPE)
		r->fds[0] = r->fds[1] = 0;
}
