// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock_events.h"

#ifdef CF_LOCK_EVENTS
#include <corefold/cf_shim.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef CF_UNHOOKED
#define CF_UNHOOKED __attribute__((noinline))
#endif

/* Return addresses kept: through inlined functions and a list or a semaphore there are no more than these. */
enum { DEPTH = 4, SLOTS = 1 << 12 };

static struct event {
	const char *primitive; /* null: free. Set once, by who took the slot */
	uintptr_t stack[DEPTH];
	uint64_t count;
	uint32_t ready;
} events[SLOTS];
static bool counts;
static uint64_t lost;
extern const char __ehdr_start[];

void lock_events_count(bool on)
{
	__atomic_store_n(&counts, on, __ATOMIC_RELAXED); /* relaxed: barriers are around it */
}

static CF_UNHOOKED bool is_same(const struct event *e, const char *primitive, const uintptr_t *stack)
{
	/* Acquire: after who filled the slot. */
	while (!__atomic_load_n(&e->ready, __ATOMIC_ACQUIRE))
		;
	bool same = e->primitive == primitive;
	for (int i = 0; i < DEPTH; i++)
		same &= e->stack[i] == stack[i];
	return same;
}

static CF_UNHOOKED void count(const char *primitive, const uintptr_t *stack)
{
	uint64_t hash = (uintptr_t)primitive;
	for (int i = 0; i < DEPTH; i++)
		hash = (hash ^ stack[i]) * 1099511628211u;
	for (int tries = 0; tries < SLOTS; tries++) {
		struct event *e = &events[(hash + (uint64_t)tries) % SLOTS];
		const char *none = NULL;
		if (__atomic_compare_exchange_n(&e->primitive, &none, primitive, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			for (int i = 0; i < DEPTH; i++)
				e->stack[i] = stack[i];
			__atomic_store_n(&e->ready, 1, __ATOMIC_RELEASE); /* release: the slot before it is compared */
		} else if (!is_same(e, primitive, stack)) {
			continue;
		}
		__atomic_fetch_add(&e->count, 1, __ATOMIC_RELAXED); /* relaxed: a count */
		return;
	}
	__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
}

/* A frame: the caller's frame, then the return address. Frames grow upwards; anything else ends the walk. */
CF_UNHOOKED void cf_lock_event(const char *primitive)
{
	enum { FARTHEST = 1 << 20 };
	const uintptr_t *frame = __builtin_frame_address(0);
	uintptr_t stack[DEPTH];
	bool goes_on = true;
	if (!__atomic_load_n(&counts, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < DEPTH; i++) {
		stack[i] = goes_on ? frame[1] - (uintptr_t)__ehdr_start : 0;
		goes_on = goes_on && frame[0] > (uintptr_t)frame && frame[0] - (uintptr_t)frame < FARTHEST;
		frame = goes_on ? (const uintptr_t *)frame[0] : frame;
	}
	count(primitive, stack);
}

void lock_events_json(FILE *to)
{
	bool first = true;
	fprintf(to, ",\n  \"lock_events_lost\": %llu,\n  \"lock_releases\": [", (unsigned long long)lost);
	for (const struct event *e = events; e < events + SLOTS; e++) {
		if (!e->primitive)
			continue;
		fprintf(to, "%s\n    {\"primitive\": \"%s\", \"count\": %llu, \"stack\": [", first ? "" : ",", e->primitive,
			(unsigned long long)e->count);
		for (int i = 0; i < DEPTH && e->stack[i]; i++)
			fprintf(to, "%s%llu", i ? ", " : "", (unsigned long long)e->stack[i]);
		fprintf(to, "]}");
		first = false;
	}
	fprintf(to, "]");
}
#endif
