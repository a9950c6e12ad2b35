// SPDX-License-Identifier: MIT OR Apache-2.0
// What is tried: for each pair of calls, every state and every pattern of equal and different arguments from a fixed list.
// Nothing is drawn at random.
#ifndef KIT_TESTS_CONFLICT_FREE_PLAN_H
#define KIT_TESTS_CONFLICT_FREE_PLAN_H

#include "../vfs/model/call.h"

// The thirteen calls; open twice: any descriptor, and POSIX's lowest.
enum row {
	ROW_OPEN, ROW_LINK, ROW_UNLINK, ROW_RENAME, ROW_STAT, ROW_FSTAT, ROW_LSEEK, ROW_CLOSE, ROW_PIPE, ROW_READ, ROW_WRITE,
	ROW_PREAD, ROW_PWRITE, ROW_OPEN_LOWEST, ROWS
};

extern const char *const row_names[ROWS];

enum {
	PLAN_SETUP = 64, // calls
	PLAN_PATHS = 8,
	PLAN_TASKS = 2,  // that make the two calls; a third one makes the files
	PLAN_MAKER = 2,
};

// One candidate. Descriptors have the numbers that they get when each call takes the lowest of its task.
struct plan {
	enum row rows[2];
	struct call setup[PLAN_SETUP], calls[2];
	int setups, path_count;
	const char *paths[PLAN_PATHS]; // all that the calls name, and other names of the same files
	int fds[3];                    // how many descriptors each task has opened
	bool lowest;                   // setup takes the lowest descriptors, too
	bool ticks;                    // each call comes at a later time than the one before; else all at one time
};

typedef void plan_visit(const struct plan *plan, void *argument);
// All candidates of a pair, always in the same order.
void plan_pair(enum row a, enum row b, plan_visit *visit, void *argument);

#endif
