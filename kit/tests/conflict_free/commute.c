// SPDX-License-Identifier: MIT OR Apache-2.0
#include "commute.h"
#include "../vfs/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <string.h>
#include <unistd.h>

enum {
	FDS = 64,
	ANY = 32, // where each call's "any descriptors" begin: some choice that suits both orders
	ANY_EACH = 8,
	MOST_SEEN = 16,
};

// Everything that can be seen, as a sequence of numbers, by its hash; inode numbers are replaced by their order of appearance.
struct view {
	uint64_t hash, numbers[MOST_SEEN];
	int count;
};

static void see(struct view *v, const void *bytes, size_t size)
{
	v->hash = hash_bytes(v->hash, bytes, size);
}

static void see_number(struct view *v, int64_t number)
{
	see(v, &number, sizeof number);
}

static void see_inode(struct view *v, uint64_t number)
{
	int i = 0;
	while (i < v->count && v->numbers[i] != number)
		i++;
	if (i == MOST_SEEN)
		abort();
	if (i == v->count)
		v->numbers[v->count++] = number;
	see_number(v, i);
}

static void see_result(struct view *v, const struct result *r)
{
	see_number(v, r->value);
	see_number(v, (int64_t)r->bytes);
	see_number(v, r->fds[0]);
	see_number(v, r->fds[1]);
	if (!r->stat.ino)
		return;
	see_inode(v, r->stat.ino);
	see_number(v, r->stat.mode);
	see_number(v, r->stat.nlink);
	see_number(v, r->stat.size);
	see_number(v, r->stat.blocks);
	see(v, &r->stat.atime, sizeof r->stat.atime);
	see(v, &r->stat.mtime, sizeof r->stat.mtime);
	see(v, &r->stat.ctime, sizeof r->stat.ctime);
}

static void look(struct model *m, struct view *v, const struct call *c)
{
	struct result r;
	model_call(m, c, &r);
	see_result(v, &r);
}

static void look_at_descriptor(struct model *m, struct view *v, int task, int fd)
{
	const struct file *f = m->tasks[task].fds[fd];
	int first = 0;
	see_number(v, f != NULL);
	if (!f)
		return;
	while (m->tasks[task].fds[first] != f)
		first++;
	see_number(v, first); // what it shares its position with
	see_number(v, f->flags);
	see_number(v, f->reads * 2 + f->writes);
	look(m, v, &(struct call){ .op = OP_FSTAT, .task = task, .fd = fd });
	look(m, v, &(struct call){ .op = OP_LSEEK, .task = task, .fd = fd, .flags = SEEK_CUR });
	if (S_ISFIFO(f->node->mode)) {
		see_number(v, f->node->ring_used);
		see(v, f->node->ring, (size_t)f->node->ring_used);
	} else {
		look(m, v, &(struct call){ .op = OP_PREAD, .task = task, .fd = fd, .size = 4 * CF_PAGE });
	}
}

static void look_at_name(struct model *m, struct view *v, const char *path)
{
	struct call c = { .op = OP_OPEN, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = path };
	struct result r;
	look(m, v, &(struct call){ .op = OP_FSTATAT, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = path });
	model_call(m, &c, &r);
	if (r.value < 0)
		return;
	look(m, v, &(struct call){ .op = OP_PREAD, .task = PLAN_MAKER, .fd = (int)r.value, .size = 4 * CF_PAGE });
	model_call(m, &(struct call){ .op = OP_CLOSE, .task = PLAN_MAKER, .fd = (int)r.value }, &r);
}

// stat comes first: reading changes access times.
static void look_at_all(struct model *m, struct view *v, const struct plan *p)
{
	static const char *const directories[] = { "/", "/x", "/y", "/z" };
	m->now.sec++;
	see_number(v, m->bytes_free);
	see_number(v, m->inodes_free);
	for (int i = 0; i < 4; i++)
		look(m, v, &(struct call){ .op = OP_FSTATAT, .fd = AT_FDCWD, .path = directories[i] });
	for (int i = 0; i < p->path_count; i++)
		look(m, v, &(struct call){ .op = OP_FSTATAT, .fd = AT_FDCWD, .path = p->paths[i] });
	for (int task = 0; task < PLAN_TASKS; task++)
		for (int fd = 0; fd < FDS; fd++)
			look_at_descriptor(m, v, task, fd);
	for (int i = 0; i < p->path_count; i++)
		look_at_name(m, v, p->paths[i]);
}

static void move(struct model_task *t, int from, int to)
{
	t->fds[to] = t->fds[from];
	t->fds[from] = NULL;
}

// The call, with a choice of descriptors that the other one does not affect.
static void make_call(struct model *m, const struct plan *p, int which, struct result *r)
{
	const struct call *c = &p->calls[which];
	int any = ANY + which * ANY_EACH;
	model_call(m, c, r);
	if (r->value >= 0 && p->rows[which] == ROW_OPEN) {
		move(&m->tasks[c->task], (int)r->value, any);
		r->value = any;
	} else if (r->value >= 0 && p->rows[which] == ROW_PIPE) {
		for (int i = 0; i < 2; i++) {
			move(&m->tasks[c->task], r->fds[i], any + i);
			r->fds[i] = any + i;
		}
	}
}

static struct view run(const struct plan *p, int first, int64_t values[2])
{
	struct model_options options = { .fds = FDS, .root_mode = 0755 };
	struct model *m = model_new(&options);
	struct view v = { .hash = HASH_START };
	struct result results[2], r;
	m->now = (struct cf_time){ 1000, 0 };
	for (int i = 0; i < p->setups; i++) {
		m->now.sec += p->ticks;
		model_call(m, &p->setup[i], &r);
		if (r.value < 0 && p->setup[i].op != OP_FSTATAT)
			abort(); // the plan is wrong
	}
	m->now.sec += p->ticks;
	make_call(m, p, first, &results[first]);
	make_call(m, p, !first, &results[!first]);
	for (int i = 0; i < 2; i++) {
		see_result(&v, &results[i]);
		values[i] = results[i].value;
	}
	look_at_all(m, &v, p);
	model_free(m);
	return v;
}

bool commutes(const struct plan *p, int64_t results[2])
{
	int64_t other[2];
	struct view a = run(p, 0, results), b = run(p, 1, other);
	return a.hash == b.hash;
}
