// SPDX-License-Identifier: MIT OR Apache-2.0
// What concurrent calls returned, and when each began and ended: a history. It is linear if the model gives the same results
// in some order of the calls that agrees with real time. In the lab this is not instrumented: the search costs no virtual time.
#ifndef KIT_TESTS_VFS_HISTORY_H
#define KIT_TESTS_VFS_HISTORY_H

#include "model.h"

enum { HISTORY_THREADS = 4, HISTORY_CALLS = 4, HISTORY_MOST = 9, HISTORY_SETUP = 16, HISTORY_PROBES = 24 };
// Beside the calls: drops unused entries from the caches, which no result may show.
#define OP_SHRINK OPS

struct event {
	struct call call;
	struct result result;
	uint64_t begin, end; // numbers of one clock
};

struct history {
	struct model_options options;
	struct call setup[HISTORY_SETUP]; // before the threads begin
	struct event events[HISTORY_THREADS][HISTORY_CALLS];
	struct event probes[HISTORY_PROBES]; // after they have ended
	int setup_count, probe_count, threads, calls[HISTORY_THREADS];
	bool one_task; // all calls are of one: descriptors are reserved at one moment and open at another
};

bool history_is_linear(const struct history *history);
void history_print(FILE *to, const struct history *history);

#endif
