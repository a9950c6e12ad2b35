// SPDX-License-Identifier: MIT OR Apache-2.0
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static size_t *slot(struct replay_files *files, const char *path, size_t length)
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)path[i]) * 1099511628211u;
	for (size_t at = hash % (2 * files->room);; at = (at + 1) % (2 * files->room)) {
		size_t place = files->slots[at];
		if (!place || (files->all[place - 1].length == length && !memcmp(files->all[place - 1].path, path, length)))
			return &files->slots[at];
	}
}

static bool grow(struct replay_files *files)
{
	size_t room = files->room ? 2 * files->room : 256;
	struct replay_file *all = realloc(files->all, room * sizeof *all);
	if (all)
		files->all = all;
	size_t *slots = all ? calloc(2 * room, sizeof *slots) : NULL;
	if (!slots)
		return false;
	free(files->slots);
	files->slots = slots;
	files->room = room;
	for (size_t i = 0; i < files->count; i++)
		*slot(files, files->all[i].path, files->all[i].length) = i + 1;
	return true;
}

static struct replay_file *find(struct replay_files *files, const char *path, size_t length)
{
	size_t place = files->room ? *slot(files, path, length) : 0;
	return place ? &files->all[place - 1] : NULL;
}

static struct replay_file *add(struct replay_files *files, const char *path, size_t length, enum replay_kind kind)
{
	if (files->count == files->room && !grow(files))
		return NULL;
	*slot(files, path, length) = files->count + 1;
	files->all[files->count] = (struct replay_file){ path, length, kind, 0 };
	return &files->all[files->count++];
}

/* The folders above a path that was there. False: one of them came later, so what is below did as well. */
static bool above(struct replay_files *files, const char *path, bool *fine)
{
	for (size_t at = 1; path[0] && path[at]; at++) {
		if (path[at] != '/')
			continue;
		struct replay_file *folder = find(files, path, at);
		if (!folder)
			*fine &= add(files, path, at, REPLAY_FOLDER) != NULL;
		else if (folder->kind == REPLAY_ABSENT)
			return false;
		else if (folder->kind == REPLAY_FILE)
			folder->kind = REPLAY_FOLDER;
	}
	return true;
}

/* A path that the trace sees for the first time was of this kind; the first sight counts. */
static bool was(struct replay_files *files, const char *path, enum replay_kind kind, bool there)
{
	bool fine = true;
	if (there && !above(files, path, &fine))
		kind = REPLAY_ABSENT;
	struct replay_file *known = find(files, path, strlen(path));
	if (!known)
		return fine && add(files, path, strlen(path), kind);
	/* stat does not say what it is, a later call may. */
	if (known->kind == REPLAY_FILE && kind == REPLAY_FOLDER)
		known->kind = kind;
	return fine;
}

static bool of_open(struct replay_files *files, const struct trace_step *s, int64_t read_to)
{
	bool is_new = s->flags & O_CREAT && ((s->flags & (O_EXCL | O_TRUNC)) || !read_to);
	struct replay_file *known = find(files, s->path, strlen(s->path));
	if (s->result < 0) {
		if (s->result == -ENOENT)
			return was(files, s->path, REPLAY_ABSENT, false);
		return s->result != -EEXIST || was(files, s->path, REPLAY_FILE, true);
	}
	if (!known && !was(files, s->path, is_new ? REPLAY_ABSENT : s->flags & O_DIRECTORY ? REPLAY_FOLDER : REPLAY_FILE, true))
		return false;
	known = find(files, s->path, strlen(s->path));
	if (s->flags & O_DIRECTORY && known->kind == REPLAY_FILE)
		known->kind = REPLAY_FOLDER;
	known->size = known->kind == REPLAY_FILE && read_to > known->size ? read_to : known->size;
	return true;
}

static bool of_step(struct replay_files *files, const struct trace_step *s, const int64_t *read_to)
{
	bool fine = s->result >= 0;
	if (s->call == TRACE_OPEN)
		return of_open(files, s, s->handle >= 0 ? read_to[s->handle] : 0);
	if (!s->path || s->result == TRACE_NO_RESULT)
		return true;
	switch (s->call) {
	case TRACE_MKDIR:
		return s->result == -EEXIST ? was(files, s->path, REPLAY_FOLDER, true) :
		       !fine || was(files, s->path, REPLAY_ABSENT, true);
	case TRACE_SYMLINK: return !fine || was(files, s->path, REPLAY_ABSENT, true);
	case TRACE_RENAME:
	case TRACE_LINK:
		return !fine || (was(files, s->path, REPLAY_FILE, true) && was(files, s->other, REPLAY_ABSENT, true));
	case TRACE_RMDIR: return !fine || was(files, s->path, REPLAY_FOLDER, true);
	case TRACE_READLINK:
		return fine ? was(files, s->path, REPLAY_SYMLINK, true) :
			      s->result != -EINVAL || was(files, s->path, REPLAY_FILE, true);
	default:
		return fine ? was(files, s->path, REPLAY_FILE, true) :
			      s->result != -ENOENT || was(files, s->path, REPLAY_ABSENT, false);
	}
}

/* How far each handle's file is read; -1: it is a folder. */
static void reads(const struct trace *trace, int64_t *read_to)
{
	int64_t *position = calloc((size_t)trace->handles + 1, sizeof *position);
	for (size_t i = 0; position && i < trace->count; i++) {
		const struct trace_step *s = &trace->steps[i];
		int64_t done = s->result == TRACE_NO_RESULT ? s->size : s->result, end = 0;
		if (s->handle < 0 || done < 0)
			continue;
		int64_t *at = &position[s->handle];
		if (s->call == TRACE_READDIR)
			read_to[s->handle] = -1;
		else if (s->call == TRACE_LSEEK)
			*at = s->result == TRACE_NO_RESULT ? *at : s->result;
		else if (s->call == TRACE_READ || s->call == TRACE_WRITE)
			*at = __builtin_add_overflow(*at, done, &end) ? 0 : end;
		if (s->call == TRACE_PREAD && __builtin_add_overflow(s->offset, done, &end))
			end = 0;
		bool is_read = (s->call == TRACE_READ || s->call == TRACE_PREAD) && done > 0;
		if (is_read && read_to[s->handle] >= 0 && end > read_to[s->handle])
			read_to[s->handle] = end;
	}
	free(position);
}

bool replay_files_of(const struct trace *trace, struct replay_files *files)
{
	int64_t *read_to = calloc((size_t)trace->handles + 1, sizeof *read_to);
	bool fine = read_to;
	*files = (struct replay_files){ 0 };
	if (fine)
		reads(trace, read_to);
	for (size_t i = 0; fine && i < trace->count; i++) {
		struct trace_step step = trace->steps[i];
		if (step.call == TRACE_OPEN && step.handle >= 0 && read_to[step.handle] < 0)
			step.flags |= O_DIRECTORY;
		fine = of_step(files, &step, read_to);
	}
	free(read_to);
	if (!fine)
		replay_files_free(files);
	return fine;
}

void replay_files_free(struct replay_files *files)
{
	free(files->all);
	free(files->slots);
	*files = (struct replay_files){ 0 };
}
