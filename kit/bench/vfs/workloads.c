// SPDX-License-Identifier: MIT OR Apache-2.0
// The workloads. Files of a thread are in /tN, those of all threads in /all.
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, DEEPEST = 64, HOT_FILES = 4, FOLDERS = 4 };

static bool make_file(struct worker *w, const char *path, int64_t size)
{
	int fd = w->calls->open(w->task, path, O_CREAT | O_RDWR, 0644);
	if (!went_well(w, "open", fd))
		return false;
	for (int64_t at = 0; at < size; at += w->settings->block)
		if (!went_well(w, "pwrite", w->calls->pwrite(w->task, fd, w->buffer, (size_t)w->settings->block, at)))
			return false;
	return went_well(w, "close", w->calls->close(w->task, fd));
}

static bool make_folder(struct worker *w, const char *path)
{
	int result = w->calls->mkdir(w->task, path, 0755);
	return result == -EEXIST || went_well(w, "mkdir", result);
}

static bool own_folder(struct worker *w)
{
	char path[NAME_BYTES];
	snprintf(path, sizeof path, "/t%ld", w->id);
	return make_folder(w, path);
}

/* ---- socket: connections that carry a little and end ---- */

struct sockets {
	long count;
	int (*pairs)[2];
};

static bool socket_connect(struct worker *w, int pair[2])
{
	return went_well(w, "socketpair", w->calls->socketpair(w->task, pair));
}

static bool socket_prepare(struct worker *w)
{
	struct sockets *s = w->state = calloc(1, sizeof *s);
	long count = s ? w->settings->connections / w->settings->threads : 0;
	count = count > 0 ? count : 1;
	if (!s || !(s->pairs = calloc((size_t)count, sizeof *s->pairs)))
		return went_well(w, "malloc", -ENOMEM);
	for (; s->count < count; s->count++)
		if (!socket_connect(w, s->pairs[s->count]))
			return false;
	return true;
}

static bool socket_carry(struct worker *w, int from, int to)
{
	size_t size = (size_t)w->settings->message;
	return went_well(w, "send", w->calls->send(w->task, from, w->buffer, size)) &&
	       went_well(w, "recv", w->calls->recv(w->task, to, w->buffer, size));
}

/* The oldest connection ends; a new one carries its messages, there and back. */
static bool socket_operation(struct worker *w, long at)
{
	struct sockets *s = w->state;
	int *pair = s->pairs[at % s->count];
	w->calls->close(w->task, pair[0]);
	w->calls->close(w->task, pair[1]);
	if (!socket_connect(w, pair)) {
		pair[0] = pair[1] = -1;
		return false;
	}
	for (long i = 0; i < w->settings->messages; i++)
		if (!socket_carry(w, pair[0], pair[1]) || !socket_carry(w, pair[1], pair[0]))
			return false;
	return true;
}

static void socket_after(struct worker *w)
{
	struct sockets *s = w->state;
	for (long i = 0; s && i < s->count; i++) {
		w->calls->close(w->task, s->pairs[i][0]);
		w->calls->close(w->task, s->pairs[i][1]);
	}
	if (s)
		free(s->pairs);
	free(s);
}

/* ---- pipe ---- */

static bool pipe_operation(struct worker *w, long at)
{
	int ends[2];
	size_t size = (size_t)w->settings->message;
	(void)at;
	return went_well(w, "pipe", w->calls->pipe(w->task, ends)) &&
	       went_well(w, "write", w->calls->write(w->task, ends[1], w->buffer, size)) &&
	       went_well(w, "read", w->calls->read(w->task, ends[0], w->buffer, size)) &&
	       went_well(w, "close", w->calls->close(w->task, ends[0])) &&
	       went_well(w, "close", w->calls->close(w->task, ends[1]));
}

/* ---- storage: sequential and random reads and writes of a file of the thread's own, and some network ---- */

struct storage {
	int fd, pair[2];
	char path[NAME_BYTES];
};

static bool storage_prepare(struct worker *w)
{
	struct storage *s = w->state = calloc(1, sizeof *s);
	if (!s)
		return went_well(w, "malloc", -ENOMEM);
	s->fd = s->pair[0] = s->pair[1] = -1;
	snprintf(s->path, sizeof s->path, "/t%ld/data", w->id);
	return own_folder(w) && make_file(w, s->path, w->settings->file) && socket_connect(w, s->pair) &&
	       went_well(w, "open", s->fd = w->calls->open(w->task, s->path, O_RDWR, 0));
}

static bool storage_reopen(struct worker *w, struct storage *s)
{
	w->calls->close(w->task, s->fd);
	return went_well(w, "open", s->fd = w->calls->open(w->task, s->path, O_RDWR, 0));
}

/* Of 32 operations: 8 each of sequential and random reads and writes, of which one is a message and one a reopening. */
static bool storage_operation(struct worker *w, long at)
{
	enum { KINDS = 4, ROUND = 32, NETWORK_AT = 15, REOPEN_AT = 31 };
	struct storage *s = w->state;
	size_t block = (size_t)w->settings->block;
	int64_t blocks = w->settings->file / w->settings->block;
	int64_t next = at / KINDS % blocks, any = worker_random(w, (uint32_t)blocks);
	if (at % ROUND == NETWORK_AT)
		return socket_carry(w, s->pair[0], s->pair[1]);
	if (at % ROUND == REOPEN_AT)
		return storage_reopen(w, s);
	int64_t offset = (int64_t)block * (at % KINDS < 2 ? next : any);
	if (at % 2)
		return went_well(w, "pwrite", w->calls->pwrite(w->task, s->fd, w->buffer, block, offset));
	return went_well(w, "pread", w->calls->pread(w->task, s->fd, w->buffer, block, offset));
}

static void storage_after(struct worker *w)
{
	struct storage *s = w->state;
	if (!s)
		return;
	w->calls->close(w->task, s->fd);
	w->calls->close(w->task, s->pair[0]);
	w->calls->close(w->task, s->pair[1]);
	free(s);
}

/* ---- writes: every thread appends to a file of its own, which begins anew when it is full ---- */

static bool writes_operation(struct worker *w, long at)
{
	struct storage *s = w->state;
	long blocks = w->settings->file / w->settings->block;
	if (at % blocks == 0 && (!went_well(w, "ftruncate", w->calls->ftruncate(w->task, s->fd, 0)) ||
				 !went_well(w, "lseek", w->calls->lseek(w->task, s->fd, 0, SEEK_SET))))
		return false;
	return went_well(w, "write", w->calls->write(w->task, s->fd, w->buffer, (size_t)w->settings->block));
}

/* ---- names: look-ups, opening, creation, renaming ---- */

struct names {
	long count;
	char (*paths)[NAME_BYTES];
};

static bool names_new(struct worker *w, long count)
{
	struct names *n = w->state = calloc(1, sizeof *n);
	if (!n || !(n->paths = calloc((size_t)count, sizeof *n->paths)))
		return went_well(w, "malloc", -ENOMEM);
	n->count = count;
	return true;
}

static void names_after(struct worker *w)
{
	struct names *n = w->state;
	if (n)
		free(n->paths);
	free(n);
}

/* Files of the thread's own with three components: /tN/dK/fM. */
static bool own_files(struct worker *w, long count)
{
	enum { IN_A_FOLDER = 16 };
	struct names *n;
	if (!names_new(w, count) || !own_folder(w))
		return false;
	n = w->state;
	for (long i = 0; i < count; i++) {
		char *path = n->paths[i];
		snprintf(path, NAME_BYTES, "/t%ld/d%ld", w->id, i / IN_A_FOLDER);
		if (i % IN_A_FOLDER == 0 && !make_folder(w, path))
			return false;
		snprintf(path, NAME_BYTES, "/t%ld/d%ld/f%ld", w->id, i / IN_A_FOLDER, i);
		if (!make_file(w, path, 0))
			return false;
	}
	return true;
}

static bool lookup_prepare(struct worker *w)
{
	return own_files(w, w->settings->files);
}

/* As many files as look-ups: none is looked up twice. */
static bool cold_prepare(struct worker *w)
{
	return own_files(w, w->settings->warm + w->settings->operations);
}

static bool lookup_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	struct fs_stat st;
	return went_well(w, "stat", w->calls->stat(w->task, n->paths[at % n->count], &st));
}

static bool open_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	int fd = w->calls->open(w->task, n->paths[at % n->count], O_RDONLY, 0);
	return went_well(w, "open", fd) && went_well(w, "close", w->calls->close(w->task, fd));
}

static bool hot_before(struct worker *w)
{
	char path[NAME_BYTES];
	bool fine = make_folder(w, "/all") && make_folder(w, "/all/hot");
	for (int i = 0; fine && i < HOT_FILES; i++) {
		snprintf(path, sizeof path, "/all/hot/f%d", i);
		fine = make_file(w, path, 0);
	}
	return fine;
}

static bool hot_prepare(struct worker *w)
{
	if (!names_new(w, HOT_FILES))
		return false;
	for (int i = 0; i < HOT_FILES; i++)
		snprintf(((struct names *)w->state)->paths[i], NAME_BYTES, "/all/hot/f%d", i);
	return true;
}

static bool deep_prepare(struct worker *w)
{
	struct names *n;
	size_t used = 0;
	if (!names_new(w, 1))
		return false;
	n = w->state;
	for (long i = 0; i < w->settings->depth - 1; i++) {
		used += (size_t)snprintf(n->paths[0] + used, NAME_BYTES - used, i ? "/d%ld" : "/t%ld", i ? i : w->id);
		if (!make_folder(w, n->paths[0]))
			return false;
	}
	snprintf(n->paths[0] + used, NAME_BYTES - used, "/f%ld", w->id);
	return make_file(w, n->paths[0], 0);
}

static bool negative_prepare(struct worker *w)
{
	if (!names_new(w, w->settings->files) || !own_folder(w))
		return false;
	for (long i = 0; i < w->settings->files; i++)
		snprintf(((struct names *)w->state)->paths[i], NAME_BYTES, "/t%ld/missing%ld", w->id, i);
	return true;
}

static bool negative_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	struct fs_stat st;
	int result = w->calls->stat(w->task, n->paths[at % n->count], &st);
	return result == -ENOENT || went_well(w, "stat of a missing name", result < 0 ? result : -EEXIST);
}

static bool folders_before(struct worker *w)
{
	char path[NAME_BYTES];
	bool fine = make_folder(w, "/all");
	for (int i = 0; fine && i < FOLDERS; i++) {
		snprintf(path, sizeof path, "/all/d%d", i);
		fine = make_folder(w, path);
	}
	return fine;
}

static bool create(struct worker *w, const char *folder, long folder_at, long at)
{
	char path[NAME_BYTES];
	snprintf(path, sizeof path, "%s%ld/f%ld.%ld", folder, folder_at, w->id, at);
	int fd = w->calls->open(w->task, path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	return went_well(w, "open", fd) && went_well(w, "close", w->calls->close(w->task, fd)) &&
	       went_well(w, "unlink", w->calls->unlink(w->task, path));
}

static bool create_one_operation(struct worker *w, long at)
{
	return create(w, "/all/d", 0, at);
}

static bool create_many_operation(struct worker *w, long at)
{
	return create(w, "/t", w->id, at);
}

static void renamed(const struct worker *w, char *path, long folder)
{
	snprintf(path, NAME_BYTES, "/all/d%ld/r%ld", folder, w->id);
}

static bool rename_prepare(struct worker *w)
{
	struct names *n;
	if (!names_new(w, 2))
		return false;
	n = w->state;
	renamed(w, n->paths[0], 0);
	return make_file(w, n->paths[0], 0);
}

static bool rename_to(struct worker *w, const char *to)
{
	struct names *n = w->state;
	char *from = n->paths[0];
	if (!went_well(w, "rename", w->calls->rename(w->task, from, to)))
		return false;
	snprintf(from, NAME_BYTES, "%s", to);
	return true;
}

/* All in one directory: each thread gives its file another name. */
static bool rename_one_operation(struct worker *w, long at)
{
	char to[NAME_BYTES];
	snprintf(to, sizeof to, "/all/d0/r%ld.%ld", w->id, at % 2);
	return rename_to(w, to);
}

/* From any of some shared directories to any other. */
static bool rename_across_operation(struct worker *w, long at)
{
	char to[NAME_BYTES];
	(void)at;
	renamed(w, to, worker_random(w, FOLDERS));
	return rename_to(w, to);
}

/* Whole directories, one below the other and back, where the loop check matters: refused ones count as well. */
static bool rename_trees_operation(struct worker *w, long at)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	uint32_t a = worker_random(w, FOLDERS), b = worker_random(w, FOLDERS);
	snprintf(from, sizeof from, at % 2 ? "/all/d%u/d%u" : "/all/d%u", a, b);
	snprintf(to, sizeof to, at % 2 ? "/all/d%u" : "/all/d%u/d%u", b, a);
	int result = w->calls->rename(w->task, from, to);
	bool refused = result == -ENOENT || result == -EINVAL || result == -ENOTEMPTY || result == -EEXIST;
	return refused || went_well(w, "rename", result);
}

/* ---- private: work that no other thread can slow down, except through what CPUs share ---- */

static bool private_operation(struct worker *w, long at)
{
	enum { LINES = 64, STEP = 64 };
	for (long i = 0; i < LINES; i++)
		w->buffer[(at + i) % LINES * STEP] += (char)worker_random(w, 256);
	return true;
}

#define FILES "--files"
#define BLOCKS "--block, --file"
#define MESSAGES "--message"

const struct workload workloads[] = {
	{ .name = "socket", .about = "connections that end after a few small messages, the oldest first",
	  .options = "--connections, --messages, --message", .prepare = socket_prepare, .operation = socket_operation,
	  .after = socket_after },
	{ .name = "storage", .about = "sequential and random reads and writes of own files, and some messages",
	  .options = BLOCKS ", " MESSAGES, .prepare = storage_prepare, .operation = storage_operation,
	  .after = storage_after },
	{ .name = "replay", .about = "a recorded trace, by each thread in a tree of its own", .options = "--trace",
	  .prepare = replay_prepare, .operation = replay_operation, .after = replay_after, .steps = replay_steps },
	{ .name = "writes", .about = "sequential writes, each thread to its own file", .options = BLOCKS,
	  .prepare = storage_prepare, .operation = writes_operation, .after = storage_after },
	{ .name = "lookup", .about = "stat of own files: three components", .options = FILES,
	  .prepare = lookup_prepare, .operation = lookup_operation, .after = names_after },
	{ .name = "lookup-hot", .about = "stat of four files that are the same for all", .before = hot_before,
	  .prepare = hot_prepare, .operation = lookup_operation, .after = names_after },
	{ .name = "lookup-cold", .about = "stat of own files whose names are not cached, each once", .cold = true,
	  .prepare = cold_prepare, .operation = lookup_operation, .after = names_after },
	{ .name = "lookup-deep", .about = "stat of an own file under many directories", .options = "--depth",
	  .prepare = deep_prepare, .operation = lookup_operation, .after = names_after },
	{ .name = "lookup-negative", .about = "stat of names that do not exist", .options = FILES,
	  .prepare = negative_prepare, .operation = negative_operation, .after = names_after },
	{ .name = "open", .about = "open and close own files", .options = FILES, .prepare = lookup_prepare,
	  .operation = open_operation, .after = names_after },
	{ .name = "open-private", .about = "the same, each thread on a file system of its own: to compare with", .options = FILES,
	  .own = true, .prepare = lookup_prepare, .operation = open_operation, .after = names_after },
	{ .name = "create-one", .about = "create and unlink files, all in one directory", .before = folders_before,
	  .operation = create_one_operation },
	{ .name = "create-many", .about = "create and unlink files, each thread in its own directory",
	  .prepare = own_folder, .operation = create_many_operation },
	{ .name = "rename-one", .about = "rename own files, all in one directory", .before = folders_before,
	  .prepare = rename_prepare, .operation = rename_one_operation, .after = names_after },
	{ .name = "rename-across", .about = "rename own files from one shared directory to another",
	  .before = folders_before, .prepare = rename_prepare, .operation = rename_across_operation,
	  .after = names_after },
	{ .name = "rename-trees", .about = "move shared directories below one another and back",
	  .before = folders_before, .operation = rename_trees_operation },
	{ .name = "pipe", .about = "make a pipe, write to it, read from it, close it", .options = MESSAGES,
	  .operation = pipe_operation },
	{ .name = "private", .about = "no file system: memory of the thread's own, to compare with",
	  .operation = private_operation },
};
const size_t workload_count = sizeof workloads / sizeof *workloads;
