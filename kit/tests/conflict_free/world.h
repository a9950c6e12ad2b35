// SPDX-License-Identifier: MIT OR Apache-2.0
// A state and the arguments of the two calls, which plan.c enumerates, and how a plan is made from them.
#ifndef KIT_TESTS_CONFLICT_FREE_WORLD_H
#define KIT_TESTS_CONFLICT_FREE_WORLD_H

#include "plan.h"

enum { MOST_NAMES = 4, MOST_INODES = 6, ABSENT = -1, PAGES = 2 };

// What a call is given besides paths and descriptors.
struct variant {
	int flags;
	int64_t offset;
	uint8_t fill;
};

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

int world_paths_of(enum row row);
bool world_takes_fd(enum row row);
// Of world.holes.
int world_hole_bits(const struct world *world);
void world_visit(const struct world *world, plan_visit *visit, void *argument);

#endif
