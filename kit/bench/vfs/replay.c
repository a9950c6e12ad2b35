// SPDX-License-Identifier: MIT OR Apache-2.0
// The replay workload: each thread does what the trace did, in a tree of its own: /tN.P in its P-th pass. An operation is one
// step. Results are compared with the recorded ones, and the number of those that differ is told.
#include "replay.h"
#include "workload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
	int *fds; /* by handle */
	long pass;
	size_t prefix;
	char path[2 * PATH_MAX], other[2 * PATH_MAX];
};

long replay_steps(const struct settings *settings)
{
	return (long)settings->trace.count;
}

static size_t set_prefix(const struct worker *w, char *path, long pass)
{
	return (size_t)snprintf(path, PATH_MAX, "/t%ld.%ld", w->id, pass);
}

static const char *below(const struct replay *r, char *whole, const char *path)
{
	size_t length = strlen(path);
	memcpy(whole + r->prefix, path, length + 1);
	return whole;
}

static bool make_one(struct worker *w, const char *path, const struct replay_file *file)
{
	enum { MODE = 0755 };
	int fd;
	switch (file->kind) {
	case REPLAY_FOLDER: return went_well(w, "mkdir", w->calls->mkdir(w->task, path, MODE));
	case REPLAY_SYMLINK: return went_well(w, "symlink", w->calls->symlink(w->task, "nothing", path));
	case REPLAY_FILE:
		fd = w->calls->open(w->task, path, O_CREAT | O_RDWR, MODE);
		return went_well(w, "open", fd) &&
		       (!file->size || went_well(w, "ftruncate", w->calls->ftruncate(w->task, fd, file->size))) &&
		       went_well(w, "close", w->calls->close(w->task, fd));
	case REPLAY_ABSENT: return true;
	}
	return true;
}

static bool make_tree(struct worker *w, const struct replay_files *files, long pass)
{
	char path[2 * PATH_MAX];
	size_t prefix = set_prefix(w, path, pass);
	if (!went_well(w, "mkdir", w->calls->mkdir(w->task, path, 0755)))
		return false;
	for (size_t i = 0; i < files->count; i++) {
		const struct replay_file *file = &files->all[i];
		if (file->length == 1)
			continue; /* the root is there */
		memcpy(path + prefix, file->path, file->length);
		path[prefix + file->length] = 0;
		if (!make_one(w, path, file))
			return false;
	}
	return true;
}

static void begin_pass(struct worker *w, struct replay *r, long pass)
{
	r->pass = pass;
	r->prefix = set_prefix(w, r->path, pass);
	memcpy(r->other, r->path, r->prefix);
}

static void close_all(struct worker *w, struct replay *r)
{
	for (int i = 0; i < w->settings->trace.handles; i++)
		if (r->fds[i] >= 0) {
			w->calls->close(w->task, r->fds[i]);
			r->fds[i] = -1;
		}
}

bool replay_prepare(struct worker *w)
{
	const struct trace *trace = &w->settings->trace;
	struct replay *r = w->state = calloc(1, sizeof *r);
	struct replay_files files = { 0 };
	bool fine = r && (r->fds = malloc(((size_t)trace->handles + 1) * sizeof *r->fds)) && replay_files_of(trace, &files);
	if (!fine)
		return went_well(w, "malloc", -ENOMEM);
	for (int i = 0; i < trace->handles; i++)
		r->fds[i] = -1;
	for (long pass = 0; fine && pass < w->settings->warm + w->settings->operations; pass++)
		fine = make_tree(w, &files, pass);
	replay_files_free(&files);
	begin_pass(w, r, 0);
	return fine;
}

/* In pieces that fit the buffer; what a single call would have given. More than a buffer is moved only where the trace did. */
static int64_t transfer(struct worker *w, int fd, const struct trace_step *s)
{
	const struct fs_calls *calls = w->calls;
	int64_t done = 0, size = s->size <= BUFFER_BYTES ? s->size : s->result >= 0 ? s->result : BUFFER_BYTES;
	do {
		size_t part = size - done < BUFFER_BYTES ? (size_t)(size - done) : BUFFER_BYTES;
		int64_t at = s->offset + done;
		ssize_t got = s->call == TRACE_READ  ? calls->read(w->task, fd, w->buffer, part) :
			      s->call == TRACE_WRITE ? calls->write(w->task, fd, w->buffer, part) :
			      s->call == TRACE_PREAD ? calls->pread(w->task, fd, w->buffer, part, at) :
						       calls->pwrite(w->task, fd, w->buffer, part, at);
		if (got < 0)
			return done ? done : got;
		done += got;
		if ((size_t)got < part)
			break;
	} while (done < size);
	return done;
}

static int64_t on_handle(struct worker *w, struct replay *r, const struct trace_step *s)
{
	const struct fs_calls *calls = w->calls;
	struct fs_stat st;
	int fd = r->fds[s->handle];
	switch (s->call) {
	case TRACE_CLOSE: r->fds[s->handle] = -1; return calls->close(w->task, fd);
	case TRACE_LSEEK: return calls->lseek(w->task, fd, s->offset, s->flags);
	case TRACE_FTRUNCATE: return calls->ftruncate(w->task, fd, s->size);
	case TRACE_FSYNC: return calls->fsync(w->task, fd);
	case TRACE_FSTAT: return calls->fstat(w->task, fd, &st);
	case TRACE_READDIR: return calls->readdir(w->task, fd);
	default: return transfer(w, fd, s);
	}
}

static int64_t open_step(struct worker *w, struct replay *r, const struct trace_step *s, const char *path)
{
	int fd = w->calls->open(w->task, path, s->flags, 0644);
	if (fd >= 0 && s->handle >= 0)
		r->fds[s->handle] = fd;
	else if (fd >= 0) /* the trace could not open it */
		w->calls->close(w->task, fd);
	return fd;
}

static int64_t on_path(struct worker *w, struct replay *r, const struct trace_step *s)
{
	const struct fs_calls *calls = w->calls;
	const char *path = below(r, r->path, s->path), *other = s->other ? below(r, r->other, s->other) : NULL;
	char text[PATH_MAX];
	struct fs_stat st;
	switch (s->call) {
	case TRACE_OPEN: return open_step(w, r, s, path);
	case TRACE_STAT: return calls->stat(w->task, path, &st);
	case TRACE_LSTAT: return calls->lstat(w->task, path, &st);
	case TRACE_LINK: return calls->link(w->task, path, other);
	case TRACE_UNLINK: return calls->unlink(w->task, path);
	case TRACE_RENAME: return calls->rename(w->task, path, other);
	case TRACE_MKDIR: return calls->mkdir(w->task, path, (unsigned)s->flags);
	case TRACE_RMDIR: return calls->rmdir(w->task, path);
	case TRACE_SYMLINK: return calls->symlink(w->task, other, path);
	default: return calls->readlink(w->task, path, text, sizeof text);
	}
}

/* Counts are compared for reads and writes only: descriptors and the lengths of directories are the system's own. */
static bool is_as_recorded(const struct trace_step *s, int64_t result)
{
	bool counts = s->call == TRACE_READ || s->call == TRACE_WRITE || s->call == TRACE_PREAD || s->call == TRACE_PWRITE;
	if (s->result == TRACE_NO_RESULT)
		return result >= 0;
	if (s->result < 0 || counts)
		return s->result == result;
	return result >= 0;
}

bool replay_operation(struct worker *w, long at)
{
	const struct trace *trace = &w->settings->trace;
	struct replay *r = w->state;
	long pass = at / (long)trace->count;
	const struct trace_step *s = &trace->steps[at % (long)trace->count];
	if (pass != r->pass) {
		close_all(w, r);
		begin_pass(w, r, pass);
	}
	int64_t result = s->path ? on_path(w, r, s) : on_handle(w, r, s);
	w->differs += !is_as_recorded(s, result);
	return true;
}

void replay_after(struct worker *w)
{
	struct replay *r = w->state;
	if (r && r->fds) {
		close_all(w, r);
		free(r->fds);
	}
	free(r);
}
