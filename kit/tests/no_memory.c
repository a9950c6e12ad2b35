// SPDX-License-Identifier: MIT OR Apache-2.0
// Without memory, init returns -ENOMEM and leaves nothing behind.
#include "no_memory.h"
#include <corefold/cf_brlock.h>
#include <corefold/cf_slab.h>
#include <corefold/cf_space.h>

static enum cf_counter_kind kind;
static const struct cf_counter_options options = { .many_cpus = 1, .percpu_limit = 4 };
static struct cf_counter counter;
static struct cf_space space;
static struct cf_brlock brlock;
static struct cf_slab slab;

static int make_counter(void)
{
	return cf_counter_init(&counter, kind, 100, &options);
}

static void destroy_counter(void)
{
	cf_counter_destroy(&counter);
}

static int make_space(void)
{
	return cf_space_init(&space, &(struct cf_space_options){ .kind = kind, .blocks = 9, .inodes = 9,
								  .block_counter = options, .inode_counter = options });
}

static void destroy_space(void)
{
	cf_space_destroy(&space);
}

TEST("counters and accounts of every kind")
{
	for (kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		each_allocation_fails(make_counter, destroy_counter);
		each_allocation_fails(make_space, destroy_space);
	}
}

TEST("a limit that is refused costs nothing either")
{
	const struct cf_counter_options negative = { .many_cpus = 1, .percpu_limit = -1 };
	long before = in_use;
	CHECK_EQUAL(cf_counter_init(&counter, CF_COUNTER_PERCPU_LIMIT, 100, &negative), -EINVAL);
	CHECK_EQUAL(in_use, before);
}

static int make_brlock(void)
{
	return cf_brlock_init(&brlock);
}

static void destroy_brlock(void)
{
	cf_brlock_destroy(&brlock);
}

static int make_slab(void)
{
	return cf_slab_init(&slab, &(struct cf_slab_options){ .size = 64 });
}

// Objects need memory for magazines; those that cannot be had there come from the slabs.
static void destroy_slab(void)
{
	enum { MANY = 300 };
	static void *objects[MANY];
	for (int failing = 0; failing < 4; failing++) {
		fail_in = failing;
		for (int i = 0; i < MANY; i++)
			CHECK((objects[i] = cf_slab_alloc(&slab)) != NULL);
		for (int i = 0; i < MANY; i++)
			cf_slab_free(&slab, objects[i]);
		fail_in = 0;
	}
	CHECK_EQUAL(cf_slab_destroy(&slab), 0);
}

TEST("locks and slabs")
{
	each_allocation_fails(make_brlock, destroy_brlock);
	each_allocation_fails(make_slab, destroy_slab);
}

HARNESS_MAIN
