/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * strace_tasks.h: the processes and threads of a log: their descriptors, working directories, and unfinished calls.
 */
#ifndef BENCH_VFS_STRACE_TASKS_H
#define BENCH_VFS_STRACE_TASKS_H

#include "strace_line.h"
#include "trace.h"

/* Descriptors beyond are not believed. */
enum { STRACE_MOST_FDS = 1 << 16, STRACE_MOST_TASKS = 1 << 12 };

struct strace_fds {
	int users; /* tasks that share it */
	int count;
	struct strace_fd {
		int handle; /* -1: none that the log opens */
		bool closes_on_exec;
	} *all;
};

struct strace_task {
	int64_t pid;
	struct strace_fds *fds;
	const char *cwd;
	char *unfinished; /* the call's beginning */
	size_t unfinished_length;
	size_t began; /* in the order of lines */
};

struct strace_tasks {
	struct trace *trace;
	struct strace_task *all;
	size_t count;
	struct strace_handle {
		int users; /* descriptors */
		const char *path;
	} *handles;
	bool no_memory;
};

/* The task of a pid. A new one, where another is just making one, is that one's child. */
struct strace_task *strace_task(struct strace_tasks *tasks, int64_t pid);
/* What `parent` made: with its descriptors, or with copies of them. */
void strace_child(struct strace_tasks *tasks, int64_t parent, int64_t pid, bool shares);
void strace_ended(struct strace_tasks *tasks, struct strace_task *task);
void strace_executed(struct strace_tasks *tasks, struct strace_task *task);
void strace_tasks_free(struct strace_tasks *tasks);

/* The handle behind a descriptor; -1: none. */
int strace_handle(struct strace_task *task, int64_t fd);
/* A handle for a new file. */
int strace_new_handle(struct strace_tasks *tasks, const char *path);
/* A descriptor of `task` is `handle` from now on; -1: nothing. A handle without descriptors is closed, which is a step. */
void strace_set(struct strace_tasks *tasks, struct strace_task *task, int64_t fd, int handle, bool closes_on_exec);

#endif
