/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * strace_calls.h: one call in a log of strace.
 */
#ifndef BENCH_VFS_STRACE_CALLS_H
#define BENCH_VFS_STRACE_CALLS_H

#include "strace_tasks.h"

/* What a line's call is read with. */
struct strace_reader {
	struct strace_tasks tasks;
	struct strace_task *task;
	const struct strace_shape *shape;
	struct strace_call call;
};

/* Adds its step, if it has one. False: a call that should be read, and cannot. */
bool strace_read_call(struct strace_reader *reader, struct strace_span text);

#endif
