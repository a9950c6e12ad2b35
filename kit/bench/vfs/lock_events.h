/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lock_events.h: how often each caller released which kind of lock. Counted in builds with CF_LOCK_EVENTS alone (cf_shim.h,
 * CF_LOCK_RELEASED), which need frame pointers: -fno-omit-frame-pointer -fno-optimize-sibling-calls. Counting takes no
 * virtual time in the lab beyond the call.
 */
#ifndef BENCH_VFS_LOCK_EVENTS_H
#define BENCH_VFS_LOCK_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#ifdef CF_LOCK_EVENTS
/* Nothing is counted before and after. */
void lock_events_count(bool on);
/* `, "lock_releases": [{"primitive", "count", "stack": [addresses in the program's file]}, ...]` */
void lock_events_json(FILE *to);
#else
static inline void lock_events_count(bool on)
{
	(void)on;
}

static inline void lock_events_json(FILE *to)
{
	(void)to;
}
#endif

#endif
