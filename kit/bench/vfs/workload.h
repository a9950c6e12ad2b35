/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * workload.h: what the workloads have in common. Each is an operation that a thread repeats; bench.c runs it on as many
 * threads as asked for, and measures.
 */
#ifndef BENCH_VFS_WORKLOAD_H
#define BENCH_VFS_WORKLOAD_H

#include "fs_calls.h"
#include "trace.h"

#include <corefold/cf_shim.h>
#include <stdbool.h>

struct settings {
	long threads, operations, warm, batches, repetitions;
	long work;                 /* cycles between operations, on average */
	long seed;                 /* of the threads' random numbers */
	long connections, messages, message;
	long block, file;          /* bytes */
	long files, depth;
	double target;             /* operations a second; 0: none */
	const char *where, *trace_file;
	struct trace trace;
};

struct worker {
	const struct fs_calls *calls;
	struct fs *own;            /* null: that of all */
	struct fs_task *task;
	const struct settings *settings;
	long id;
	uint64_t random;
	void *state;               /* the workload's */
	char *buffer;
	const char *failed;        /* the call that failed, and its error */
	int error;
	long differs;              /* replay: results that are not the recorded ones */
	int64_t *marks;            /* nanoseconds: when the run, and when each batch, was over */
} CF_LINE_ALIGNED;

enum { BUFFER_BYTES = 1 << 20 };

struct workload {
	const char *name, *about;
	const char *options;       /* those that it heeds */
	/* Once, by a thread that is not measured. */
	bool (*before)(struct worker *);
	/* By each thread, before it is measured. */
	bool (*prepare)(struct worker *);
	/* False: `failed` is set. */
	bool (*operation)(struct worker *, long at);
	void (*after)(struct worker *);
	/* How many operations make one of --operations and --warm; null: one. */
	long (*steps)(const struct settings *);
	bool own;                  /* each thread has a file system of its own */
	bool cold;                 /* names are dropped between preparation and run */
};

extern const struct workload workloads[];
extern const size_t workload_count;

/* Of replay.c. */
bool replay_prepare(struct worker *);
bool replay_operation(struct worker *, long at);
void replay_after(struct worker *);
long replay_steps(const struct settings *);

/* Whether a call that gave `result` went well; otherwise the worker has failed in it. */
static inline bool went_well(struct worker *w, const char *call, int64_t result)
{
	if (CF_LIKELY(result >= 0))
		return true;
	w->failed = call;
	w->error = (int)-result;
	return false;
}

static inline uint32_t worker_random(struct worker *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((w->random >> 32) * below) >> 32);
}

#endif
