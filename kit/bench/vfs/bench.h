/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * bench.h: one workload on so many threads, and how fast it was.
 *
 * Each thread does the same number of operations, in batches. A batch's rate is the sum, over threads, of operations over
 * the time that the thread took for its batch of that number. The rate of all is the harmonic mean, and its interval comes from
 * the batches (the method of batch means), or with several repetitions from the repetitions.
 */
#ifndef BENCH_VFS_BENCH_H
#define BENCH_VFS_BENCH_H

#include "interval.h"
#include "workload.h"

struct outcome {
	double *rates; /* operations a second: of the batches or repetitions */
	size_t count;
	long operations, differs; /* of all threads */
	const char *failed;       /* null, or the call that failed */
	int error;
	struct interval rate;
};

/* False: `failed` and `error` say why. */
bool bench_run(const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
	       struct outcome *outcome);
void outcome_free(struct outcome *outcome);

/* Of report.c. */
void report_text(FILE *to, const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
		 const struct outcome *outcome);
void report_json(FILE *to, const struct fs_calls *calls, const struct workload *workload, const struct settings *settings,
		 const struct outcome *outcome);

#endif
