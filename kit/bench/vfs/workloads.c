// SPDX-License-Identifier: MIT OR Apache-2.0
// The workloads, and those on contents: sockets, pipes, reads and writes.
#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
