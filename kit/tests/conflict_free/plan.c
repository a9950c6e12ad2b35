// SPDX-License-Identifier: MIT OR Apache-2.0
#include "plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

const char *const row_names[ROWS] = { "open", "link", "unlink", "rename", "stat", "fstat", "lseek", "close", "pipe", "read",
				      "write", "pread", "pwrite", "open lowest" };

enum { MOST_NAMES = 4, MOST_INODES = 6, ABSENT = -1, PAGES = 2 };

static const char *const name_paths[2][MOST_NAMES] = { { "/x/a", "/x/b", "/x/c", "/x/d" }, { "/y/a", "/y/b", "/y/c", "/y/d" } };
static const char *const other_paths[MOST_INODES] = { "/z/0", "/z/1", "/z/2", "/z/3", "/z/4", "/z/5" };

static bool opens(enum row row)
{
	return row == ROW_OPEN || row == ROW_OPEN_LOWEST;
}

static int paths_of(enum row row)
{
	return row == ROW_LINK || row == ROW_RENAME ? 2 : opens(row) || row == ROW_UNLINK || row == ROW_STAT;
}

static bool takes_fd(enum row row)
{
	return !paths_of(row) && row != ROW_PIPE;
}

// What a call is given besides paths and descriptors.
struct variant {
	int flags;
	int64_t offset;
	uint8_t fill;
};

static const struct variant open_variants[] = { { O_RDONLY, 0, 0 }, { O_RDWR | O_CREAT, 0, 0 },
						{ O_RDWR | O_CREAT | O_EXCL, 0, 0 }, { O_RDWR | O_TRUNC, 0, 0 } },
			    plain_variants[] = { { 0, 0, 0 } },
			    lseek_variants[] = { { SEEK_SET, 0, 0 }, { SEEK_SET, CF_PAGE, 0 }, { SEEK_CUR, 0, 0 }, { SEEK_END, 0, 0 } },
			    write_variants[] = { { 0, 0, 1 }, { 0, 0, 2 } },
			    pread_variants[] = { { 0, 0, 0 }, { 0, CF_PAGE, 0 } },
			    pwrite_variants[] = { { 0, 0, 1 }, { 0, 0, 2 }, { 0, CF_PAGE, 1 }, { 0, PAGES * CF_PAGE, 1 } };

#define ALL(list) list, sizeof list / sizeof *list
struct variants {
	const struct variant *list;
	size_t count;
};

static struct variants variants_of(enum row row)
{
	switch (row) {
	case ROW_OPEN:
	case ROW_OPEN_LOWEST: return (struct variants){ ALL(open_variants) };
	case ROW_LSEEK: return (struct variants){ ALL(lseek_variants) };
	case ROW_WRITE: return (struct variants){ ALL(write_variants) };
	case ROW_PREAD: return (struct variants){ ALL(pread_variants) };
	case ROW_PWRITE: return (struct variants){ ALL(pwrite_variants) };
	default: return (struct variants){ ALL(plain_variants) };
	}
}

// What a descriptor is.
enum kind { BAD, FILE_KIND, PIPE_READ, PIPE_WRITE };
enum relation { OWN, SAME, DUPLICATE, OTHER_END };

struct descriptor {
	enum kind kind;
	enum relation relation; // of the second call's to the first's
	int object;             // inode
	int flags, page;        // files: how it was opened, and where it is
	bool data;              // pipes: something is in it
};

static const struct descriptor kinds[] = {
	{ .kind = BAD },
	{ .kind = FILE_KIND, .flags = O_RDWR },
	{ .kind = FILE_KIND, .flags = O_RDONLY, .page = PAGES },
	{ .kind = FILE_KIND, .flags = O_WRONLY | O_APPEND },
	{ .kind = PIPE_READ },
	{ .kind = PIPE_READ, .data = true },
	{ .kind = PIPE_WRITE, .data = true },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

// A state and the arguments; what is enumerated.
struct world {
	enum row rows[2];
	int args, names, name_of[4]; // the paths that calls are given, and which name each is
	int dir[MOST_NAMES], inode[MOST_NAMES], inodes;
	bool linked, held, read, empty; // files have one more name; are open; were read since written; have no pages
	bool ticks;                     // the clock has moved on since the state was made
	int holes;                      // beside a pipe: which of a few more descriptors are closed again
	int task;                       // of the second call; the first one's is 0
	struct descriptor fds[2];
	struct variant variants[2];
};

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
		if (takes_fd(row))
			c->fd = fds[i];
		c->path = paths_of(row) > 0 ? name_path(w, w->name_of[path++]) : NULL;
		c->path2 = paths_of(row) > 1 ? name_path(w, w->name_of[path++]) : NULL;
		p->rows[i] = row;
	}
}

// The name cache knows the names that the calls are given, also those that there are not.
static void look_up_names(struct plan *p, const struct world *w)
{
	for (int i = 0; i < w->names; i++)
		add(p, (struct call){ .op = OP_FSTATAT, .task = PLAN_MAKER, .fd = AT_FDCWD, .path = name_path(w, i) });
}

static int hole_bits(const struct world *w)
{
	bool pipes[] = { w->rows[0] == ROW_PIPE, w->rows[1] == ROW_PIPE };
	return pipes[0] && pipes[1] ? 6 : (pipes[0] && takes_fd(w->rows[1])) || (pipes[1] && takes_fd(w->rows[0])) ? 2 : 0;
}

static void punch_holes(struct plan *p, const struct world *w)
{
	int bits = hole_bits(w), first = p->fds[0];
	for (int i = 0; i < bits; i += 2)
		make_pipe(p, &(struct descriptor){ .kind = PIPE_READ }, 0);
	for (int i = 0; i < bits; i++)
		if (w->holes >> i & 1)
			add(p, (struct call){ .op = OP_CLOSE, .fd = first + i });
}

static void visit_world(const struct world *w, plan_visit *visit, void *argument)
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

// --- Enumeration: each function loops over one part of the world, and calls the next.

struct enumeration {
	struct world w;
	plan_visit *visit;
	void *argument;
};

static void each_variant(struct enumeration *e)
{
	struct world *w = &e->w;
	struct variants a = variants_of(w->rows[0]), b = variants_of(w->rows[1]);
	// The same two variants the other way round are met in the mirrored state.
	bool same = w->rows[0] == w->rows[1];
	for (size_t i = 0; i < a.count; i++)
		for (size_t j = same ? i : 0; j < b.count; j++) {
			w->variants[0] = a.list[i];
			w->variants[1] = b.list[j];
			visit_world(w, e->visit, e->argument);
		}
}

static void each_hole(struct enumeration *e)
{
	int holes = 1 << hole_bits(&e->w);
	for (e->w.holes = 0; e->w.holes < holes; e->w.holes++)
		each_variant(e);
	e->w.holes = 0;
}

// States that only times show, and files that were not read since they were written where one is about to be.
static void each_time(struct enumeration *e)
{
	struct world *w = &e->w;
	bool reads = false;
	for (int i = 0; i < 2; i++)
		reads |= w->rows[i] == ROW_READ || w->rows[i] == ROW_PREAD;
	for (int state = 0; state < (reads ? 3 : 2); state++) {
		w->ticks = state != 1;
		w->read = state != 2;
		each_hole(e);
	}
}

// States of the named files.
static void each_history(struct enumeration *e)
{
	struct world *w = &e->w;
	bool few = w->args > 0 && w->args <= 2 && !takes_fd(w->rows[0]) && !takes_fd(w->rows[1]);
	for (int i = 0; i < (few ? 4 : 1); i++)
		for (int linked = 0; linked < (w->args && w->args <= 3 ? 2 : 1); linked++) {
			w->held = i & 1;
			w->empty = i & 2;
			w->linked = linked;
			each_time(e);
		}
	w->held = w->linked = w->empty = false;
}

// The second descriptor's relation to the first.
static void each_second(struct enumeration *e)
{
	struct world *w = &e->w;
	const struct descriptor *first = &w->fds[0];
	bool pipe = first->kind == PIPE_READ || first->kind == PIPE_WRITE;
	int inodes = w->inodes;
	for (int r = SAME; r <= OTHER_END && !w->task; r++) {
		if ((first->kind == BAD && r != SAME) || (r == OTHER_END && !pipe))
			continue;
		w->fds[1] = *first;
		w->fds[1].relation = (enum relation)r;
		each_history(e);
	}
	for (int k = 0; k < KINDS; k++) {
		bool may_share = kinds[k].kind == FILE_KIND && first->kind == FILE_KIND;
		for (int own = 0; own < (may_share ? 2 : 1); own++) {
			w->fds[1] = kinds[k];
			w->fds[1].object = may_share && !own ? first->object : inodes;
			w->inodes = inodes + (kinds[k].kind == FILE_KIND && w->fds[1].object == inodes);
			each_history(e);
			w->inodes = inodes;
		}
	}
	w->fds[1] = (struct descriptor){ .kind = BAD };
}

// The descriptor of call `which`: of every kind, on each of the named files or another one.
static void each_descriptor(struct enumeration *e, int which)
{
	struct world *w = &e->w;
	int inodes = w->inodes;
	for (int k = 0; k < KINDS; k++) {
		for (int object = 0; object <= (kinds[k].kind == FILE_KIND ? inodes : 0); object++) {
			w->fds[which] = kinds[k];
			w->fds[which].object = object;
			w->inodes = inodes + (kinds[k].kind == FILE_KIND && object == inodes);
			if (which == 0 && takes_fd(w->rows[1]))
				each_second(e);
			else
				each_history(e);
			w->inodes = inodes;
		}
	}
	w->fds[which] = (struct descriptor){ .kind = BAD };
}

static void each_task(struct enumeration *e)
{
	for (e->w.task = 0; e->w.task < 2; e->w.task++) {
		if (takes_fd(e->w.rows[0]))
			each_descriptor(e, 0);
		else if (takes_fd(e->w.rows[1]))
			each_descriptor(e, 1);
		else
			each_history(e);
	}
}

// Each name is absent, a file of its own, or one more name of an earlier one's.
static void each_inode(struct enumeration *e, int name)
{
	if (name == e->w.names)
		return each_task(e);
	int inodes = e->w.inodes;
	for (int inode = ABSENT; inode <= inodes; inode++) {
		e->w.inode[name] = inode;
		e->w.inodes = inode == inodes ? inodes + 1 : inodes;
		each_inode(e, name + 1);
	}
	e->w.inodes = inodes;
}

// The first name is in the first directory.
static void each_directory(struct enumeration *e)
{
	for (int dirs = 0; dirs < 1 << (e->w.names ? e->w.names - 1 : 0); dirs++) {
		for (int i = 1; i < e->w.names; i++)
			e->w.dir[i] = dirs >> (i - 1) & 1;
		each_inode(e, 0);
	}
}

// Each path is an earlier one, or a new name.
static void each_name(struct enumeration *e, int arg)
{
	int names = e->w.names;
	if (arg == e->w.args)
		return each_directory(e);
	for (int name = 0; name <= names; name++) {
		e->w.name_of[arg] = name;
		e->w.names = name == names ? names + 1 : names;
		each_name(e, arg + 1);
	}
	e->w.names = names;
}

void plan_pair(enum row a, enum row b, plan_visit *visit, void *argument)
{
	struct enumeration e = { .w = { .rows = { a, b }, .args = paths_of(a) + paths_of(b) }, .visit = visit, .argument = argument };
	each_name(&e, 0);
}
