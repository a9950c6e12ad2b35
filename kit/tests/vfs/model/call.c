// SPDX-License-Identifier: MIT OR Apache-2.0
#include "call.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[OPS] = {
	"open", "close", "dup", "dup2", "pipe", "read", "write", "pread", "pwrite", "lseek", "ftruncate",
	"truncate", "fsync", "readdir", "fstatat", "fstat", "statvfs", "link", "unlink", "rename", "mkdir",
	"mknod", "symlink", "readlink", "chmod", "fchmod", "chown", "fchown", "utimens", "access", "chdir",
	"fchdir", "umask",
};

static void print_path(FILE *to, const char *path)
{
	if (path && strlen(path) > 60)
		fprintf(to, " \"%.30s...\" (%zu bytes)", path, strlen(path));
	else if (path)
		fprintf(to, " \"%s\"", path);
}

void call_print(FILE *to, const struct call *c, const struct result *r)
{
	fprintf(to, "task %d: %s fd %d fd2 %d", c->task, names[c->op], c->fd, c->fd2);
	print_path(to, c->path);
	print_path(to, c->path2);
	fprintf(to, " flags 0%o mode 0%o uid %d gid %d offset %lld size %u", (unsigned)c->flags, c->mode, (int)c->uid,
		(int)c->gid, (long long)c->offset, c->size);
	if (r)
		fprintf(to, " = %lld%s%s", (long long)r->value, r->value < 0 ? " " : "",
			r->value < 0 ? strerrorname_np((int)-r->value) : "");
	fprintf(to, "\n");
}

static bool times_differ(const struct cf_time *a, const struct cf_time *b)
{
	return a->sec != b->sec || a->nsec != b->nsec;
}

const char *result_differs(const struct result *a, const struct result *b, const struct comparison *what)
{
	const struct cf_stat *s = &a->stat, *t = &b->stat;
	bool directory = S_ISDIR(s->mode);
	if (a->value != b->value)
		return "return value";
	if (a->fds[0] != b->fds[0] || a->fds[1] != b->fds[1])
		return "descriptors";
	if (a->bytes != b->bytes)
		return "bytes";
	if (s->mode != t->mode)
		return "mode";
	if (s->nlink != t->nlink)
		return "link count";
	if (s->uid != t->uid || s->gid != t->gid)
		return "owner";
	if (!directory && s->size != t->size)
		return "size";
	if (what->space && (s->size != t->size || s->blocks != t->blocks))
		return "size of the directory, or blocks";
	if (what->numbers && s->ino != t->ino)
		return "inode number";
	if (what->times && times_differ(&s->atime, &t->atime))
		return "access time";
	if (what->times && times_differ(&s->mtime, &t->mtime))
		return "modification time";
	if (what->times && times_differ(&s->ctime, &t->ctime))
		return "status change time";
	if (what->space && memcmp(&a->space, &b->space, sizeof a->space))
		return "free space";
	return NULL;
}
