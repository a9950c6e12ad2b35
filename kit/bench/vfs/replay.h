/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * replay.h: which files a trace found when it began, told by what it did: a file that is opened without O_CREAT was there,
 * one that mkdir makes was not. Files that nothing is known of are left out.
 */
#ifndef BENCH_VFS_REPLAY_H
#define BENCH_VFS_REPLAY_H

#include "trace.h"

enum replay_kind { REPLAY_ABSENT, REPLAY_FILE, REPLAY_FOLDER, REPLAY_SYMLINK };

struct replay_file {
	const char *path;
	size_t length; /* of the path; of a folder that only begins longer paths, shorter than the string */
	enum replay_kind kind;
	int64_t size;
};

struct replay_files {
	struct replay_file *all; /* a folder comes before what is in it */
	size_t count, room;
	size_t *slots;           /* the hash table: places in `all`, plus one */
};

bool replay_files_of(const struct trace *trace, struct replay_files *files);
void replay_files_free(struct replay_files *files);

#endif
