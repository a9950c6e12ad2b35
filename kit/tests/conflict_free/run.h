// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes the two calls of a plan on cf_vfs, each on a CPU of its own, the state before them on a third one.
#ifndef KIT_TESTS_CONFLICT_FREE_RUN_H
#define KIT_TESTS_CONFLICT_FREE_RUN_H

#include "plan.h"
#include "trace.h"

struct runner;
struct runner *runner_new(void);
void runner_free(struct runner *runner);
// How many lines conflict. Ends the program where a call does not return what the model says.
int runner_run(struct runner *runner, const struct plan *plan, const int64_t expected[2], struct conflict *conflicts);

#endif
