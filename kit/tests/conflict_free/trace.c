// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BITS = 6 };

void trace_begin(struct trace *t)
{
	COREFOLD_TRACE_BEGIN(t->accesses, TRACE_MOST);
}

static struct touched *slot_of(const struct trace *t, uint64_t line)
{
	uint64_t at = line * UINT64_C(0x9e3779b97f4a7c15) >> 51; // 64 less the bits of TRACE_SLOTS
	while (t->lines[at].line && t->lines[at].line != line)
		at = (at + 1) % TRACE_SLOTS;
	return (struct touched *)&t->lines[at];
}

static void touch(struct trace *t, uint64_t line, const struct corefold_traced *access)
{
	struct touched *slot = slot_of(t, line);
	bool writes = access->kind != COREFOLD_READ;
	if (!slot->line) {
		if (t->used_count == TRACE_SLOTS / 2)
			abort();
		t->used[t->used_count++] = (uint16_t)(slot - t->lines);
		*slot = (struct touched){ .line = line };
	}
	if (!slot->pc || (writes && !slot->written))
		slot->pc = (uint64_t)access->pc;
	slot->written |= writes;
}

static void clear(struct trace *t)
{
	while (t->used_count)
		t->lines[t->used[--t->used_count]] = (struct touched){ .line = 0 };
}

bool trace_end(struct trace *t)
{
	t->count = COREFOLD_TRACE_END();
	if (!t->count || t->count > TRACE_MOST)
		return false;
	clear(t);
	for (size_t i = 0; i < t->count; i++) {
		const struct corefold_traced *access = &t->accesses[i];
		uint64_t begin = (uint64_t)access->address, end = begin + (access->bytes ? access->bytes : 1) - 1;
		for (uint64_t line = begin >> LINE_BITS; line <= end >> LINE_BITS; line++)
			touch(t, line, access);
	}
	return true;
}

int trace_conflicts(const struct trace *a, const struct trace *b, struct conflict *conflicts)
{
	int count = 0;
	for (int i = 0; i < a->used_count && count < CONFLICTS_MOST; i++) {
		const struct touched *one = &a->lines[a->used[i]], *other = slot_of(b, one->line);
		if (other->line && (one->written || other->written))
			conflicts[count++] = (struct conflict){ one->line << LINE_BITS, { one->pc, other->pc } };
	}
	return count;
}
