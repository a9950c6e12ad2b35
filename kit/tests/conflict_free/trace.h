// SPDX-License-Identifier: MIT OR Apache-2.0
// The cache lines that one call touches, as the simulator saw it, and what two calls have in common.
#ifndef KIT_TESTS_CONFLICT_FREE_TRACE_H
#define KIT_TESTS_CONFLICT_FREE_TRACE_H

#include <corefold.h>
#include <stdbool.h>
#include <stdint.h>

enum { TRACE_MOST = 1 << 14, TRACE_SLOTS = 1 << 13, CONFLICTS_MOST = 64 };

// A line, and the code that touched it: who wrote it, else who read it.
struct touched {
	uint64_t line, pc;
	bool written;
};

struct trace {
	struct corefold_traced accesses[TRACE_MOST];
	size_t count;
	struct touched lines[TRACE_SLOTS]; // by hash of the line; line 0: free
	uint16_t used[TRACE_SLOTS];        // slots that are not free
	int used_count;
};

// A line that one writes and the other touches.
struct conflict {
	uint64_t line, pcs[2];
};

void trace_begin(struct trace *trace);
// False: there were more accesses than there is room for, or none, as without a simulator.
bool trace_end(struct trace *trace);
int trace_conflicts(const struct trace *a, const struct trace *b, struct conflict *conflicts);

#endif
