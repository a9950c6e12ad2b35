// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness.h"
#include <corefold/cf_lock.h>

struct guarded {
	struct cf_lock lock;
	long value, rounds; // plain: ThreadSanitizer looks on
};

static void count(int id, void *shared)
{
	struct guarded *g = shared;
	(void)id;
	for (long i = 0; i < g->rounds; i++) {
		struct cf_lock_node node;
		cf_lock_take(&g->lock, &node);
		g->value++;
		cf_lock_drop(&g->lock, &node);
	}
}

static void one_at_a_time(enum cf_lock_kind kind)
{
	struct guarded g = { .rounds = scaled(3000) };
	cf_lock_init(&g.lock, kind);
	crew_run(6, true, count, &g);
	CHECK_EQUAL(g.value, 6 * g.rounds);
}

TEST("a queued lock has one holder at a time")
{
	one_at_a_time(CF_LOCK_QUEUED);
}

TEST("a ticket lock has one holder at a time")
{
	one_at_a_time(CF_LOCK_TICKET);
}

HARNESS_MAIN
