// SPDX-License-Identifier: MIT OR Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <unistd.h>

const char *const row_names[ROWS] = { "open", "link", "unlink", "rename", "stat", "fstat", "lseek", "close", "pipe", "read",
				      "write", "pread", "pwrite", "open lowest" };

struct variants {
	const struct variant *list;
	size_t count;
};

static const struct variant open_variants[] = { { O_RDONLY, 0, 0 }, { O_RDWR | O_CREAT, 0, 0 },
						{ O_RDWR | O_CREAT | O_EXCL, 0, 0 }, { O_RDWR | O_TRUNC, 0, 0 } },
			    plain_variants[] = { { 0, 0, 0 } },
			    lseek_variants[] = { { SEEK_SET, 0, 0 }, { SEEK_SET, CF_PAGE, 0 }, { SEEK_CUR, 0, 0 }, { SEEK_END, 0, 0 } },
			    write_variants[] = { { 0, 0, 1 }, { 0, 0, 2 } },
			    pread_variants[] = { { 0, 0, 0 }, { 0, CF_PAGE, 0 } },
			    pwrite_variants[] = { { 0, 0, 1 }, { 0, 0, 2 }, { 0, CF_PAGE, 1 }, { 0, PAGES * CF_PAGE, 1 } };

#define ALL(list) list, sizeof list / sizeof *list
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

// Each function loops over one part of the world, and calls the next.

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
			world_visit(w, e->visit, e->argument);
		}
}

static void each_hole(struct enumeration *e)
{
	int holes = 1 << world_hole_bits(&e->w);
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
	bool few = w->args > 0 && w->args <= 2 && !world_takes_fd(w->rows[0]) && !world_takes_fd(w->rows[1]);
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
			if (which == 0 && world_takes_fd(w->rows[1]))
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
		if (world_takes_fd(e->w.rows[0]))
			each_descriptor(e, 0);
		else if (world_takes_fd(e->w.rows[1]))
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
	struct enumeration e = { .w = { .rows = { a, b }, .args = world_paths_of(a) + world_paths_of(b) }, .visit = visit, .argument = argument };
	each_name(&e, 0);
}
