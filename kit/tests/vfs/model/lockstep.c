// SPDX-License-Identifier: MIT OR Apache-2.0
// Two implementations in lockstep: every result of every call is compared.
#include "random_calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 12 }; // calls before the difference that are printed

static bool has_long_name(const char *path)
{
	for (; path && *path; path += strcspn(path, "/"), path += *path == '/')
		if (strcspn(path, "/") > CF_NAME_MAX)
			return true;
	return false;
}

static bool is_removed(const struct model_task *t, int fd)
{
	const struct file *f = fd >= 0 && fd < MODEL_FDS ? t->fds[fd] : NULL;
	return fd == -100 ? t->cwd->nlink == 0 : f && f->node->nlink == 0;
}

// truncate to the size that a file has: tmpfs leaves its times as they are. open that may create: where a socket has the name, or a
// link that is not followed, Linux looks first whether it is another user's in a sticky directory, and behind a name that is too
// long it sees a slash first.
static bool is_of_tmpfs(struct model *m, const struct call *c)
{
	struct place p = { 0 };
	bool opens = c->op == OP_OPEN && (c->flags & O_CREAT);
	int error = -1;
	if (opens && has_long_name(c->path))
		return true;
	if (opens || c->op == OP_TRUNCATE)
		error = model_walk(m, &m->tasks[c->task], c->fd, c->path, opens && c->flags & O_NOFOLLOW ? 0 : WALK_FOLLOW, &p);
	free(p.last);
	return !error && (opens ? S_ISSOCK(p.node->mode) || S_ISLNK(p.node->mode) : p.node->size == c->offset);
}

// What one of the two leaves open.
static bool is_left_out(const struct lockstep *l, const struct call *c)
{
	struct file *f = c->fd >= 0 && c->fd < MODEL_FDS ? l->model->tasks[c->task].fds[c->fd] : NULL;
	if (c->op == OP_LSEEK && f && S_ISDIR(f->node->mode))
		return true; // positions in directories are the implementation's
	if (c->op == OP_LSEEK && c->flags >= SEEK_DATA && c->offset < 0)
		return true;
	if (c->op == OP_READLINK && (!c->size || !*c->path)) // an empty path is Linux's own: of a descriptor of O_PATH
		return true;
	if (l->tmpfs && is_of_tmpfs(l->model, c))
		return true;
	if (l->files_only && (c->op == OP_PIPE || c->op == OP_STATVFS || (c->op == OP_MKNOD && S_ISSOCK(c->mode))))
		return true;
	// Of two things that are wrong with a rename Linux finds the name's length last, and cf_vfs first.
	if (c->op == OP_RENAME && l->long_first && (has_long_name(c->path) || has_long_name(c->path2)))
		return true;
	// In a removed directory: that there is no such name, or that it is too long.
	if ((has_long_name(c->path) && is_removed(&l->model->tasks[c->task], c->fd)) ||
	    (has_long_name(c->path2) && is_removed(&l->model->tasks[c->task], c->op == OP_SYMLINK ? c->fd : c->fd2)))
		return true;
	if (!l->small_pipes || !f || !S_ISFIFO(f->node->mode) || (c->op != OP_WRITE && c->op != OP_PWRITE))
		return false;
	return c->size > 600 || f->node->ring_used > 8000;
}

static struct seen *seen_of(struct lockstep *l, uint64_t number)
{
	if (number >= l->seen_size) {
		uint64_t size = number * 2 + 64;
		l->seen = realloc(l->seen, size * sizeof *l->seen);
		memset(l->seen + l->seen_size, 0, (size - l->seen_size) * sizeof *l->seen);
		l->seen_size = size;
	}
	return &l->seen[number];
}

static bool same_time(const struct cf_time *a, const struct cf_time *b)
{
	return a->sec == b->sec && a->nsec == b->nsec;
}

// Directories get the time that the removed inode's clock shows, which may be a coarse one: they may seem unchanged.
static bool changed_in_one(const struct cf_time seen[2], const struct cf_stat *a, const struct cf_time *one,
			   const struct cf_time *other)
{
	bool changed = !same_time(&seen[0], one), other_changed = !same_time(&seen[1], other);
	return S_ISDIR(a->mode) ? other_changed && !changed : changed != other_changed;
}

// The numbers of one map to those of the other; and, with `changes`, times change together.
static const char *identity_differs(struct lockstep *l, const struct cf_stat *a, const struct cf_stat *b)
{
	struct seen *seen = seen_of(l, a->ino);
	bool first = !seen->number, m, c;
	if (first)
		seen->number = b->ino;
	if (seen->number != b->ino)
		return "inode number: it was another before";
	m = changed_in_one(seen->mtime, a, &a->mtime, &b->mtime);
	c = changed_in_one(seen->ctime, a, &a->ctime, &b->ctime);
	seen->mtime[0] = a->mtime;
	seen->mtime[1] = b->mtime;
	seen->ctime[0] = a->ctime;
	seen->ctime[1] = b->ctime;
	if (!l->changes || first || S_ISFIFO(a->mode)) // of pipes the kernel has coarse time stamps
		return NULL;
	return m ? "modification time: changed in one only" : c ? "status change time: changed in one only" : NULL;
}

static void report(const struct call *before, const int64_t *values, char (*paths)[2][64], long count, const char *why, const struct result *a,
		   const struct result *b, const char *other)
{
	fprintf(stderr, "call %ld: %s differs: model %lld, %s %lld\n", count, why, (long long)a->value, other,
		(long long)b->value);
	fprintf(stderr, "  model mode 0%o nlink %u size %lld blocks %lld; %s mode 0%o nlink %u size %lld blocks %lld\n", a->stat.mode,
		a->stat.nlink, (long long)a->stat.size, (long long)a->stat.blocks, other, b->stat.mode, b->stat.nlink,
		(long long)b->stat.size, (long long)b->stat.blocks);
	fprintf(stderr, "  model bfree %lld ffree %lld; %s bfree %lld ffree %lld\n", (long long)a->space.bfree,
		(long long)a->space.ffree, other, (long long)b->space.bfree, (long long)b->space.ffree);
	for (long i = count < SHOWN ? 0 : count - SHOWN + 1; i <= count; i++) {
		struct call c = before[i % SHOWN];
		c.path = c.path ? paths[i % SHOWN][0] : NULL;
		c.path2 = paths[i % SHOWN][1];
		fprintf(stderr, "  %ld ", i);
		call_print(stderr, &c, &(struct result){ .value = values[i % SHOWN] });
	}
}

// One call of both; null, or what differs.
static const char *both(struct lockstep *l, const struct call *c, struct result *a, struct result *b)
{
	const char *why;
	model_call(l->model, c, a);
	l->other.call(l->other.self, c, b);
	why = result_differs(a, b, &l->what);
	return !why && a->stat.ino ? identity_differs(l, &a->stat, &b->stat) : why;
}

// The files that the tasks have open, and where they are.
static const char *both_look(struct lockstep *l, int fds, struct result *a, struct result *b)
{
	const char *why = NULL;
	for (int task = 0; task < MODEL_TASKS && !why; task++) {
		why = both(l, &(struct call){ .op = OP_FSTATAT, .task = task, .fd = -100, .path = "." }, a, b);
		for (int fd = 0; fd < fds && !why; fd++)
			if (l->model->tasks[task].fds[fd])
				why = both(l, &(struct call){ .op = OP_FSTAT, .task = task, .fd = fd }, a, b);
	}
	return why;
}

bool lockstep_run(struct lockstep *l, struct random_calls *random, long count)
{
	static struct call before[SHOWN];
	static char paths[SHOWN][2][64];
	static int64_t values[SHOWN];
	random->model = l->model;
	for (long i = 0; i < count; i++) {
		struct call c;
		struct result a, b;
		const char *why;
		random_call(random, &c);
		before[i % SHOWN] = c;
		snprintf(paths[i % SHOWN][0], 64, "%.63s", c.path ? c.path : "");
		snprintf(paths[i % SHOWN][1], 64, "%.63s", c.path2);
		if (is_left_out(l, &c))
			continue;
		l->model->now = (struct cf_time){ 1000000 + l->clock / 1000, l->clock % 1000 * 1000 };
		l->clock++;
		why = both(l, &c, &a, &b);
		values[i % SHOWN] = a.value;
		(a.value < 0 ? l->errors : l->successes)[c.op]++;
		if (!why && l->what.space)
			why = both(l, &(struct call){ .op = OP_STATVFS, .fd = -100, .path = "/" }, &a, &b);
		if (!why && l->looks)
			why = both_look(l, random->fds, &a, &b);
		if (why) {
			report(before, values, paths, i, why, &a, &b, l->other.name);
			return false;
		}
	}
	return true;
}

void lockstep_free(struct lockstep *l)
{
	free(l->seen);
	l->seen = NULL;
	l->seen_size = 0;
}
