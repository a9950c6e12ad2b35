// SPDX-License-Identifier: MIT OR Apache-2.0
// Small random programs for vfs_histories.c: which calls a few threads make at once, and what is there before. Few names and few
// descriptors, so that most calls meet.
// Left out, since they are several steps here as in Linux (cf_vfs.h, guarantee 3): O_TRUNC; renames of directories beside paths
// through them; symbolic links that are removed or replaced beside paths through them; link and truncate by path beside a
// rename or removal of that path (here: of "/k", which has none); calls that span pages; a descriptor's number beside a call
// of the same task that reserves one and fails; EMFILE of CF_O_ANYFD beside a close.
#ifndef KIT_TESTS_EXPLORE_VFS_PROGRAMS_H
#define KIT_TESTS_EXPLORE_VFS_PROGRAMS_H

#include "../vfs/model/history.h"

#include <corefold/cf_vfs.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { MIXED, NAMES, DATA, DESCRIPTORS, DIRECTORIES, KINDS };

// The numbers of a program. It draws its calls and paths from a few of the possible ones: four calls and three paths that meet
// often find more than all of them that meet rarely (Groce et al., Swarm testing, ISSTA 2012).
struct random {
	uint64_t state;
	uint32_t calls[4], paths[3];
};

static uint32_t below(struct random *r, uint32_t bound)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((r->state >> 33) % bound);
}

static void choose_few(struct random *r)
{
	for (int i = 0; i < 4; i++)
		r->calls[i] = below(r, 1 << 16);
	for (int i = 0; i < 3; i++)
		r->paths[i] = below(r, 1 << 16);
}

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))
#define SOME_CALL(r, table) ((table)[(r)->calls[below(r, 4)] % COUNT_OF(table)])
#define SOME_PATH(r, table) ((table)[(r)->paths[below(r, 3)] % COUNT_OF(table)])

static struct call on_path(enum op op, const char *path)
{
	return (struct call){ .op = op, .fd = -100, .fd2 = -100, .path = path, .mode = 0777 };
}

static struct call on_fd(enum op op, int fd)
{
	return (struct call){ .op = op, .fd = fd, .fd2 = -100, .mode = 0777 };
}

// --- What is there before.

static void before(struct history *h, struct call call)
{
	h->setup[h->setup_count++] = call;
}

static void make_file(struct history *h, int task, const char *path)
{
	struct call c = on_path(OP_OPEN, path);
	c.task = task;
	c.flags = strcmp(path, "/") ? O_RDWR | O_CREAT : O_RDONLY | O_DIRECTORY;
	before(h, c);
}

static void make_directory(struct history *h, const char *path)
{
	before(h, on_path(OP_MKDIR, path));
}

// --- Calls of each kind.

static const char *const shared_paths[] = { "/a", "/b", "/d", "/d/a", "/d/b", "/l" };
static const char *const file_paths[] = { "/a", "/b", "/d/a", "/d/b" };

static int open_flags(struct random *r)
{
	int flags = O_RDWR | O_NONBLOCK | (below(r, 2) ? O_CREAT : 0);
	flags |= below(r, 3) ? 0 : O_EXCL | O_CREAT;
	return flags | (below(r, 3) ? 0 : O_APPEND);
}

static void data_of(struct random *r, struct call *c)
{
	c->fill = (uint8_t)below(r, 256);
	c->size = 1 + below(r, 100);
	c->offset = below(r, 3) * 50;
}

static struct call call_on_fd(struct random *r, enum op op)
{
	struct call c = on_fd(op, op == OP_READDIR);
	data_of(r, &c);
	c.flags = op == OP_READDIR ? 64 : 0; // entries at once
	return c;
}

static bool draws(const struct random *r, const enum op *ops, uint32_t count, enum op op)
{
	for (int i = 0; i < 4; i++)
		if (ops[r->calls[i] % count] == op)
			return true;
	return false;
}

// Files, directories, links and contents. Where links are made, and names go, no path is through a link.
static struct call mixed_call(struct random *r)
{
	static const enum op ops[] = { OP_OPEN, OP_OPEN, OP_UNLINK, OP_RENAME, OP_RENAME, OP_LINK, OP_MKDIR, OP_UNLINK, OP_FSTATAT,
				       OP_PREAD, OP_PWRITE, OP_TRUNCATE, OP_SYMLINK, OP_READLINK, OP_CLOSE, OP_FSTAT, OP_WRITE,
				       OP_FTRUNCATE, OP_READ, OP_READDIR, OP_SHRINK };
	static const char *const files[] = { "/a", "/b", "/d/a", "/d/b", "/l" };
	const bool links_go = draws(r, ops, COUNT_OF(ops), OP_SYMLINK) &&
			      (draws(r, ops, COUNT_OF(ops), OP_RENAME) || draws(r, ops, COUNT_OF(ops), OP_UNLINK));
	struct call c = on_path(SOME_CALL(r, ops), SOME_PATH(r, shared_paths));
	c.path2 = SOME_PATH(r, shared_paths);
	data_of(r, &c);
	if (c.op == OP_SYMLINK)
		c.path = SOME_PATH(r, files); // not the directory in others' paths
	if (c.op == OP_FSTATAT && links_go)
		c.flags = AT_SYMLINK_NOFOLLOW;
	if (c.op == OP_OPEN)
		c.flags = open_flags(r) | (links_go ? O_NOFOLLOW : 0);
	if (c.op == OP_UNLINK)
		c.flags = below(r, 3) ? 0 : AT_REMOVEDIR;
	if (c.op == OP_RENAME) {
		c.path = SOME_PATH(r, files);
		c.path2 = SOME_PATH(r, files);
	}
	if (c.op == OP_LINK || c.op == OP_TRUNCATE)
		c.path = "/k";
	return (c.op >= OP_CLOSE && c.op <= OP_FTRUNCATE) || c.op == OP_FSTAT || c.op == OP_READDIR ? call_on_fd(r, c.op) : c;
}

// Four names of files in two directories.
static struct call names_call(struct random *r)
{
	static const enum op ops[] = { OP_RENAME, OP_RENAME, OP_RENAME, OP_UNLINK, OP_LINK, OP_OPEN, OP_FSTATAT, OP_FSTATAT,
				       OP_READDIR, OP_SHRINK, OP_FTRUNCATE, OP_PWRITE };
	struct call c = on_path(SOME_CALL(r, ops), SOME_PATH(r, file_paths));
	c.path2 = SOME_PATH(r, file_paths);
	if (c.op == OP_OPEN)
		c.flags = open_flags(r);
	if (c.op == OP_LINK)
		c.path = "/k";
	if (c.op == OP_FSTATAT && !below(r, 4))
		c.path = "/d/../a";
	if (c.op == OP_RENAME)
		c.flags = !below(r, 4); // RENAME_NOREPLACE
	return c.op == OP_READDIR || c.op == OP_FTRUNCATE || c.op == OP_PWRITE ? call_on_fd(r, c.op) : c;
}

// One page of one file, by two descriptors of each of three tasks; one appends.
static struct call data_call(struct random *r)
{
	static const enum op ops[] = { OP_PREAD, OP_PREAD, OP_PWRITE, OP_PWRITE, OP_WRITE, OP_READ, OP_FTRUNCATE, OP_FSTAT,
				       OP_LSEEK, OP_FSTATAT };
	struct call c = on_fd(SOME_CALL(r, ops), 2 * (int)below(r, 2));
	data_of(r, &c);
	if (c.op == OP_LSEEK)
		c.flags = below(r, 2) ? SEEK_END : SEEK_CUR;
	if (c.op == OP_FSTATAT)
		c = on_path(OP_FSTATAT, "/a");
	return c;
}

// One task's table of six, or twenty and any number. 0 and 1 stay open: dup, read and their like look their file up before they
// act on it. Whether others are open fsync says.
static struct call descriptors_call(struct random *r, bool any)
{
	static const enum op ops[] = { OP_DUP, OP_DUP, OP_DUP2, OP_CLOSE, OP_CLOSE, OP_CLOSE, OP_OPEN, OP_OPEN, OP_FSYNC, OP_FSYNC,
				       OP_FSTAT, OP_READ, OP_WRITE, OP_LSEEK };
	struct call c = on_fd(SOME_CALL(r, ops), (int)below(r, 2));
	data_of(r, &c);
	c.fd2 = 2 + (int)below(r, 4);
	if (c.op == OP_CLOSE || c.op == OP_FSYNC)
		c.fd = c.fd2;
	if (c.op == OP_OPEN) {
		c = on_path(OP_OPEN, below(r, 2) ? "/k" : "/a");
		c.flags = O_RDWR;
	}
	if (any && (c.op == OP_OPEN || c.op == OP_DUP))
		c.flags |= CF_O_ANYFD;
	if (c.op == OP_LSEEK)
		c.flags = SEEK_CUR;
	return c;
}

// Directories that are made, moved and removed, without paths through them; "/g" stays.
static struct call directories_call(struct random *r)
{
	static const enum op ops[] = { OP_MKDIR, OP_UNLINK, OP_UNLINK, OP_RENAME, OP_RENAME, OP_RENAME, OP_FSTATAT, OP_OPEN,
				       OP_READDIR, OP_SHRINK };
	static const char *const names[] = { "/d", "/e", "/g/x", "/g/y" };
	struct call c = on_path(SOME_CALL(r, ops), SOME_PATH(r, names));
	c.path2 = SOME_PATH(r, names);
	if (c.op == OP_FSTATAT && !below(r, 4))
		c.path = "/g/../d";
	if (c.op == OP_UNLINK)
		c.flags = below(r, 4) ? AT_REMOVEDIR : 0;
	if (c.op == OP_OPEN)
		c.flags = below(r, 2) ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT;
	return c.op == OP_READDIR ? call_on_fd(r, c.op) : c;
}

// --- What is looked at afterwards.

static void probe(struct history *h, struct call call)
{
	h->probes[h->probe_count++].call = call;
}

static void probe_paths(struct history *h, const char *const *paths, int count)
{
	for (int i = 0; i < count; i++) {
		struct call c = on_path(OP_FSTATAT, paths[i]);
		c.flags = AT_SYMLINK_NOFOLLOW;
		probe(h, c);
	}
}

static void probe_fd(struct history *h, int task, int fd, enum op op)
{
	struct call c = on_fd(op, fd);
	c.task = task;
	c.size = 400;
	c.flags = op == OP_READDIR ? 64 : op == OP_LSEEK ? SEEK_CUR : 0;
	probe(h, c);
}

// --- Whole programs.

// fd 0 and 2 of each task: "/a", the second to append; 1: "/".
static void setup_names(struct history *h, enum kind kind, bool empty)
{
	static const char *const directories[] = { "/d", "/e", "/g/x", "/g/y" };
	make_directory(h, "/d");
	for (int t = 0; t < MODEL_TASKS; t++)
		make_file(h, t, "/a");
	for (int t = 0; t < MODEL_TASKS; t++)
		make_file(h, t, "/");
	for (int t = 0; t < MODEL_TASKS; t++) {
		make_file(h, t, "/a");
		h->setup[h->setup_count - 1].flags |= O_APPEND;
	}
	if (!empty)
		make_file(h, 0, "/d/a");
	make_file(h, 0, "/k");
	if (kind == DIRECTORIES) {
		make_directory(h, "/e");
		make_directory(h, "/g");
		probe_paths(h, directories, 4);
	} else {
		probe_paths(h, shared_paths, 6);
	}
	for (int t = 0; t < MODEL_TASKS; t++) {
		probe_fd(h, t, 0, OP_PREAD);
		probe_fd(h, t, 0, OP_FSTAT);
	}
	probe_fd(h, 0, 1, OP_READDIR);
	probe(h, on_path(OP_STATVFS, "/"));
}

static void setup_descriptors(struct history *h, bool any)
{
	for (int i = 0; i < 4; i++)
		make_file(h, 0, i % 2 ? "/k" : "/a");
	h->options.fds = any ? 20 : 6;
	for (int fd = 0; fd < 6; fd++) {
		probe_fd(h, 0, fd, OP_LSEEK);
		probe_fd(h, 0, fd, OP_FSTAT);
	}
	probe(h, on_path(OP_STATVFS, "/"));
}

static struct call call_of(struct random *r, enum kind kind, bool any)
{
	switch (kind) {
	case NAMES: return names_call(r);
	case DATA: return data_call(r);
	case DESCRIPTORS: return descriptors_call(r, any);
	case DIRECTORIES: return directories_call(r);
	default: return mixed_call(r);
	}
}

static void some_program(struct history *h, struct random *r, enum kind kind)
{
	static const int shapes[][2] = { { 3, 3 }, { 3, 2 }, { 2, 4 }, { 4, 2 } }; // threads and calls
	const int *shape = shapes[below(r, kind == DESCRIPTORS ? 4 : 3)]; // of a task each, or all of one
	bool any = below(r, 2);
	choose_few(r);
	*h = (struct history){ .options = { .bytes = 1 << 20, .inodes = 100, .fds = 20, .root_mode = 0777 }, .threads = shape[0],
				.one_task = kind == DESCRIPTORS };
	if (kind == DESCRIPTORS)
		setup_descriptors(h, any);
	else
		setup_names(h, kind, below(r, 2));
	for (int t = 0; t < h->threads; t++) {
		h->calls[t] = shape[1];
		for (int i = 0; i < shape[1]; i++) {
			h->events[t][i].call = call_of(r, kind, any);
			h->events[t][i].call.task = kind == DESCRIPTORS ? 0 : t;
		}
	}
}

#endif
