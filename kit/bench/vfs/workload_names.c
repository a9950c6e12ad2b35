// SPDX-License-Identifier: MIT OR Apache-2.0
// Workloads on names: look-ups, opening, creation, renaming.
#include "workloads.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOT_FILES = 4, FOLDERS = 4 };

bool make_file(struct worker *w, const char *path, int64_t size)
{
	int fd = w->calls->open(w->task, path, O_CREAT | O_RDWR, 0644);
	if (!went_well(w, "open", fd))
		return false;
	for (int64_t at = 0; at < size; at += w->settings->block)
		if (!went_well(w, "pwrite", w->calls->pwrite(w->task, fd, w->buffer, (size_t)w->settings->block, at)))
			return false;
	return went_well(w, "close", w->calls->close(w->task, fd));
}

bool make_folder(struct worker *w, const char *path)
{
	int result = w->calls->mkdir(w->task, path, 0755);
	return result == -EEXIST || went_well(w, "mkdir", result);
}

bool own_folder(struct worker *w)
{
	char path[NAME_BYTES];
	snprintf(path, sizeof path, "/t%ld", w->id);
	return make_folder(w, path);
}

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

void names_after(struct worker *w)
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

bool lookup_prepare(struct worker *w)
{
	return own_files(w, w->settings->files);
}

/* As many files as look-ups: none is looked up twice. */
bool cold_prepare(struct worker *w)
{
	return own_files(w, w->settings->warm + w->settings->operations);
}

bool lookup_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	struct fs_stat st;
	return went_well(w, "stat", w->calls->stat(w->task, n->paths[at % n->count], &st));
}

bool open_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	int fd = w->calls->open(w->task, n->paths[at % n->count], O_RDONLY, 0);
	return went_well(w, "open", fd) && went_well(w, "close", w->calls->close(w->task, fd));
}

bool hot_before(struct worker *w)
{
	char path[NAME_BYTES];
	bool fine = make_folder(w, "/all") && make_folder(w, "/all/hot");
	for (int i = 0; fine && i < HOT_FILES; i++) {
		snprintf(path, sizeof path, "/all/hot/f%d", i);
		fine = make_file(w, path, 0);
	}
	return fine;
}

bool hot_prepare(struct worker *w)
{
	if (!names_new(w, HOT_FILES))
		return false;
	for (int i = 0; i < HOT_FILES; i++)
		snprintf(((struct names *)w->state)->paths[i], NAME_BYTES, "/all/hot/f%d", i);
	return true;
}

bool deep_prepare(struct worker *w)
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

bool negative_prepare(struct worker *w)
{
	if (!names_new(w, w->settings->files) || !own_folder(w))
		return false;
	for (long i = 0; i < w->settings->files; i++)
		snprintf(((struct names *)w->state)->paths[i], NAME_BYTES, "/t%ld/missing%ld", w->id, i);
	return true;
}

bool negative_operation(struct worker *w, long at)
{
	struct names *n = w->state;
	struct fs_stat st;
	int result = w->calls->stat(w->task, n->paths[at % n->count], &st);
	return result == -ENOENT || went_well(w, "stat of a missing name", result < 0 ? result : -EEXIST);
}

bool folders_before(struct worker *w)
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

bool create_one_operation(struct worker *w, long at)
{
	return create(w, "/all/d", 0, at);
}

bool create_many_operation(struct worker *w, long at)
{
	return create(w, "/t", w->id, at);
}

static void renamed(const struct worker *w, char *path, long folder)
{
	snprintf(path, NAME_BYTES, "/all/d%ld/r%ld", folder, w->id);
}

bool rename_prepare(struct worker *w)
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
bool rename_one_operation(struct worker *w, long at)
{
	char to[NAME_BYTES];
	snprintf(to, sizeof to, "/all/d0/r%ld.%ld", w->id, at % 2);
	return rename_to(w, to);
}

/* From any of some shared directories to any other. */
bool rename_across_operation(struct worker *w, long at)
{
	char to[NAME_BYTES];
	(void)at;
	renamed(w, to, worker_random(w, FOLDERS));
	return rename_to(w, to);
}

/* Whole directories, one below the other and back, where the loop check matters: refused ones count as well. */
bool rename_trees_operation(struct worker *w, long at)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	uint32_t a = worker_random(w, FOLDERS), b = worker_random(w, FOLDERS);
	snprintf(from, sizeof from, at % 2 ? "/all/d%u/d%u" : "/all/d%u", a, b);
	snprintf(to, sizeof to, at % 2 ? "/all/d%u" : "/all/d%u/d%u", b, a);
	int result = w->calls->rename(w->task, from, to);
	bool refused = result == -ENOENT || result == -EINVAL || result == -ENOTEMPTY || result == -EEXIST;
	return refused || went_well(w, "rename", result);
}
