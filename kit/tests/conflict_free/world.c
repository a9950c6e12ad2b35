// SPDX-License-Identifier: MIT OR Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const name_paths[2][MOST_NAMES] = { { "/x/a", "/x/b", "/x/c", "/x/d" }, { "/y/a", "/y/b", "/y/c", "/y/d" } };
static const char *const other_paths[MOST_INODES] = { "/z/0", "/z/1", "/z/2", "/z/3", "/z/4", "/z/5" };

static bool opens(enum row row)
{
	return row == ROW_OPEN || row == ROW_OPEN_LOWEST;
}

int world_paths_of(enum row row)
{
	return row == ROW_LINK || row == ROW_RENAME ? 2 : opens(row) || row == ROW_UNLINK || row == ROW_STAT;
}

bool world_takes_fd(enum row row)
{
	return !world_paths_of(row) && row != ROW_PIPE;
}

static void add(struct plan *p, struct call c)
{
	if (p->setups == PLAN_SETUP)
		abort();
	p->setup[p->setups++] = c;
}

static int add_fd(struct plan *p, int task)
{
	return p->fds[task]++;
}

static const char *name_path(const struct world *w, int name)
{
	return name_paths[w->dir[name]][name];
}

static const char *inode_path(const struct world *w, int inode)
{
	for (int i = 0; i < w->names; i++)
		if (w->inode[i] == inode)
			return name_path(w, i);
	return other_paths[inode];
}

static void make_inode(struct plan *p, const struct world *w, int inode)
{
	const char *path = inode_path(w, inode);
	int fd = p->fds[PLAN_MAKER];
	add(p, (struct call){ .op = OP_OPEN, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = path, .flags = O_CREAT | O_RDWR,
			      .mode = 0644 });
	for (int page = 0; page < (w->empty ? 0 : PAGES); page++)
		add(p, (struct call){ .op = OP_PWRITE, .task = PLAN_MAKER, .fd = fd, .offset = page * CF_PAGE, .size = CF_PAGE,
				      .fill = (uint8_t)(1 + page) });
	if (w->held)
		add_fd(p, PLAN_MAKER);
	else
		add(p, (struct call){ .op = OP_CLOSE, .task = PLAN_MAKER, .fd = fd });
	if (w->linked && path != other_paths[inode])
		add(p, (struct call){ .op = OP_LINK, .task = PLAN_MAKER, .fd = AT_FDCWD, .fd2 = AT_FDCWD, .path = path,
				      .path2 = other_paths[inode] });
	for (int i = 0; i < w->names; i++)
		if (w->inode[i] == inode && name_path(w, i) != path)
			add(p, (struct call){ .op = OP_LINK, .task = PLAN_MAKER, .fd = AT_FDCWD, .fd2 = AT_FDCWD, .path = path,
					      .path2 = name_path(w, i) });
}

// Last, since a link changes the file, too.
static void read_inode(struct plan *p, const struct world *w, int inode)
{
	int fd = p->fds[PLAN_MAKER];
	if (!w->read)
		return;
	add(p, (struct call){ .op = OP_OPEN, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = inode_path(w, inode) });
	add(p, (struct call){ .op = OP_PREAD, .task = PLAN_MAKER, .fd = fd, .size = 1 });
	add(p, (struct call){ .op = OP_CLOSE, .task = PLAN_MAKER, .fd = fd });
}

static int make_pipe(struct plan *p, const struct descriptor *d, int task)
{
	int fd = add_fd(p, task);
	add_fd(p, task);
	add(p, (struct call){ .op = OP_PIPE, .task = task });
	for (int page = 0; page < (d->data ? PAGES : 0); page++)
		add(p, (struct call){ .op = OP_WRITE, .task = task, .fd = fd + 1, .size = CF_PAGE, .fill = (uint8_t)(1 + page) });
	return fd + (d->kind == PIPE_WRITE);
}

// The number of the call's descriptor; `first`: of the first call's.
static int make_descriptor(struct plan *p, const struct world *w, const struct descriptor *d, int task, int first)
{
	int fd;
	switch (d->relation) {
	case SAME: return first;
	case OTHER_END: return first ^ 1;
	case DUPLICATE: add(p, (struct call){ .op = OP_DUP, .task = task, .fd = first }); return add_fd(p, task);
	case OWN: break;
	}
	if (d->kind == BAD)
		return 60;
	if (d->kind != FILE_KIND)
		return make_pipe(p, d, task);
	fd = add_fd(p, task);
	add(p, (struct call){ .op = OP_OPEN, .task = task, .fd = AT_FDCWD, .path = inode_path(w, d->object), .flags = d->flags });
	if (d->page)
		add(p, (struct call){ .op = OP_LSEEK, .task = task, .fd = fd, .offset = d->page * CF_PAGE, .flags = SEEK_SET });
	return fd;
}

static void make_calls(struct plan *p, const struct world *w, const int fds[2])
{
	static const enum op ops[ROWS] = { OP_OPEN, OP_LINK, OP_UNLINK, OP_RENAME, OP_FSTATAT, OP_FSTAT, OP_LSEEK, OP_CLOSE, OP_PIPE,
					   OP_READ, OP_WRITE, OP_PREAD, OP_PWRITE, OP_OPEN };
	int path = 0;
	for (int i = 0; i < 2; i++) {
		enum row row = w->rows[i];
		const struct variant *v = &w->variants[i];
		struct call *c = &p->calls[i];
		*c = (struct call){ .op = ops[row], .task = i ? w->task : 0, .fd = AT_FDCWD, .fd2 = AT_FDCWD, .flags = v->flags,
				    .offset = v->offset, .size = CF_PAGE, .fill = v->fill, .mode = 0644 };
		if (world_takes_fd(row))
			c->fd = fds[i];
		c->path = world_paths_of(row) > 0 ? name_path(w, w->name_of[path++]) : NULL;
		c->path2 = world_paths_of(row) > 1 ? name_path(w, w->name_of[path++]) : NULL;
		p->rows[i] = row;
	}
}

// The name cache knows the names that the calls are given, also those that there are not.
static void look_up_names(struct plan *p, const struct world *w)
{
	for (int i = 0; i < w->names; i++)
		add(p, (struct call){ .op = OP_FSTATAT, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = name_path(w, i) });
}

int world_hole_bits(const struct world *w)
{
	bool pipes[] = { w->rows[0] == ROW_PIPE, w->rows[1] == ROW_PIPE };
	return pipes[0] && pipes[1] ? 6 : (pipes[0] && world_takes_fd(w->rows[1])) || (pipes[1] && world_takes_fd(w->rows[0])) ? 2 : 0;
}

static void punch_holes(struct plan *p, const struct world *w)
{
	int bits = world_hole_bits(w), first = p->fds[0];
	for (int i = 0; i < bits; i += 2)
		make_pipe(p, &(struct descriptor){ .kind = PIPE_READ }, 0);
	for (int i = 0; i < bits; i++)
		if (w->holes >> i & 1)
			add(p, (struct call){ .op = OP_CLOSE, .fd = first + i });
}

void world_visit(const struct world *w, plan_visit *visit, void *argument)
{
	static const char *const directories[] = { "/x", "/y", "/z" };
	static struct plan p; // large
	int fds[2];
	p.setups = p.path_count = 0;
	p.fds[0] = p.fds[1] = p.fds[PLAN_MAKER] = 0;
	p.ticks = w->ticks;
	p.lowest = w->rows[0] == ROW_OPEN_LOWEST || w->rows[1] == ROW_OPEN_LOWEST;
	for (int i = 0; i < 3; i++)
		add(&p, (struct call){ .op = OP_MKDIR, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = directories[i], .mode = 0755 });
	for (int i = 0; i < w->inodes; i++)
		make_inode(&p, w, i);
	for (int i = 0; i < w->inodes; i++)
		read_inode(&p, w, i);
	look_up_names(&p, w);
	fds[0] = make_descriptor(&p, w, &w->fds[0], 0, 0);
	fds[1] = make_descriptor(&p, w, &w->fds[1], w->task, fds[0]);
	punch_holes(&p, w);
	make_calls(&p, w, fds);
	for (int i = 0; i < w->names; i++)
		p.paths[p.path_count++] = name_path(w, i);
	for (int i = 0; i < w->inodes && i < PLAN_PATHS - MOST_NAMES; i++)
		p.paths[p.path_count++] = other_paths[i];
	visit(&p, argument);
}
