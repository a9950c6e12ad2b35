// SPDX-License-Identifier: MIT OR Apache-2.0
// Random calls, and two implementations that make the same ones in lockstep.
#ifndef KIT_TESTS_VFS_RANDOM_CALLS_H
#define KIT_TESTS_VFS_RANDOM_CALLS_H

#include "model.h"

struct random_calls {
	uint64_t state;
	int fds;              // descriptors of a task
	int64_t largest;      // offsets and sizes are below, but for rare ones
	bool rare_offsets;    // offsets up to 2^62, so that holes are wide
	bool rare_times;      // seconds of which 64 bits do not hold the nanoseconds
	const struct model *model; // lockstep_run sets it: most calls are about what the model has
	char path[CF_PATH_MAX + 64], path2[CF_PATH_MAX + 64];
};

void random_call(struct random_calls *random, struct call *call);

// Between the generator's own files.
static inline uint32_t below(struct random_calls *r, uint32_t bound)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((r->state >> 33) % bound);
}

static inline bool one_in(struct random_calls *r, uint32_t n)
{
	return below(r, n) == 0;
}

// A descriptor that the task has open; -1: it has none.
int random_open_fd(struct random_calls *random, const struct model_task *task);
// Are more open than calls are about? Then one is to be closed.
bool random_has_many(const struct random_calls *r, const struct model_task *task);
// The directory that a relative path starts from; null: there is none.
const struct node *random_start(const struct model_task *task, int fd);
// Appends names that are there, from `start` on; returns what they lead to.
const struct node *random_known_path(struct random_calls *random, const struct node *start, char *path);

struct lockstep {
	struct model *model;
	struct implementation other;
	struct comparison what;
	bool changes;         // compare only whether times have changed since they were seen last
	bool looks;           // stat all open files after each call: a difference is found where it arises
	bool tmpfs;           // leave out where Linux's tmpfs does more than POSIX says, or less
	bool files_only;      // leave out pipes and sockets
	bool long_first;      // renames: leave out names that are too long, as there the order of errors differs
	bool small_pipes;     // leave out what would fill a pipe: the kernel counts pages
	int64_t clock;
	// By the model's inode number: what the other calls it, and the times seen last.
	struct seen {
		uint64_t number;
		struct cf_time mtime[2], ctime[2];
	} *seen;
	uint64_t seen_size;
	uint64_t errors[OPS], successes[OPS];
};

// Makes `count` calls; false after printing the first difference, with the calls before it.
bool lockstep_run(struct lockstep *lockstep, struct random_calls *random, long count);
void lockstep_free(struct lockstep *lockstep);

#endif
