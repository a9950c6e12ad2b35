// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness.h"
#include <corefold/cf_space.h>

static struct cf_space_options options(int kind, int64_t blocks, int64_t reserve, int64_t inodes)
{
	struct cf_space_options o = { .kind = (enum cf_counter_kind)kind, .blocks = blocks, .reserve = reserve,
				      .inodes = inodes };
	o.block_counter.many_cpus = o.inode_counter.many_cpus = 1;
	o.block_counter.batch = o.inode_counter.batch = 8;
	return o;
}

#define EACH_KIND(kind) for (int kind = 0; kind < CF_COUNTER_KINDS; kind++)

TEST("a reservation is whole or not at all")
{
	EACH_KIND(kind)
	{
		struct cf_space s;
		struct cf_space_reservation r;
		struct cf_space_usage u;
		struct cf_space_options o = options(kind, 100, 20, 2);
		CHECK_EQUAL(cf_space_init(&s, &o), 0);
		CHECK_EQUAL(cf_space_reserve(&s, &r, 81, 0, 0), -ENOSPC);
		CHECK_EQUAL(cf_space_reserve(&s, &r, 10, 3, 0), -ENOSPC);
		CHECK_EQUAL(cf_space_reserve(&s, &r, -1, 0, 0), -EINVAL);
		CHECK_EQUAL(cf_space_reserve(&s, &r, 1, -1, 0), -EINVAL);
		cf_space_reservation_end(&r);
		cf_space_usage(&s, &u);
		CHECK_EQUAL(u.free_blocks, 100);
		CHECK_EQUAL(u.free_inodes, 2);
		CHECK_EQUAL(cf_space_reserve(&s, &r, 80, 1, 0), 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 1, 0), -ENOSPC);
		CHECK_EQUAL(cf_space_take_blocks(&s, 20, CF_SPACE_PRIVILEGED), 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 1, CF_SPACE_PRIVILEGED), -ENOSPC);
		CHECK_EQUAL(cf_space_reservation_use(&r, 81, 0), -ENOSPC);
		CHECK_EQUAL(cf_space_reservation_use(&r, 30, 1), 0);
		cf_space_reservation_end(&r);
		cf_space_reservation_end(&r);
		cf_space_usage(&s, &u);
		CHECK_EQUAL(u.free_blocks, 50);
		CHECK_EQUAL(u.free_inodes, 1);
		CHECK_EQUAL(u.allocated_inodes, 2);
		cf_space_destroy(&s);
	}
}

TEST("inodes are made of blocks, up to their limit")
{
	EACH_KIND(kind)
	{
		struct cf_space s;
		struct cf_space_usage u;
		struct cf_space_options o = options(kind, 100, 0, 0);
		o.inode_limit = 128;
		CHECK_EQUAL(cf_space_init(&s, &o), 0);
		CHECK_EQUAL(cf_space_take_inodes(&s, 1), -ENOSPC);
		CHECK_EQUAL(cf_space_add_inodes(&s, 64, 8, 0), 0);
		CHECK_EQUAL(cf_space_take_inodes(&s, 1), 0);
		CHECK_EQUAL(cf_space_add_inodes(&s, 64, 93, 0), -ENOSPC);
		CHECK_EQUAL(cf_space_add_inodes(&s, 64, 8, 0), 0);
		CHECK_EQUAL(cf_space_add_inodes(&s, 1, 8, 0), -ENOSPC);
		cf_space_usage(&s, &u);
		CHECK_EQUAL(u.free_blocks, 84);
		CHECK_EQUAL(u.free_inodes, 127);
		CHECK_EQUAL(u.allocated_inodes, 128);
		cf_space_destroy(&s);
	}
}

TEST("bad arguments are errors")
{
	struct cf_space s;
	struct cf_space_options o = options(0, 10, 11, 0);
	CHECK_EQUAL(cf_space_init(&s, &o), -EINVAL);
	o = options(0, -1, 0, 0);
	CHECK_EQUAL(cf_space_init(&s, &o), -EINVAL);
	o = options(CF_COUNTER_KINDS, 10, 0, 0);
	CHECK_EQUAL(cf_space_init(&s, &o), -EINVAL);
	CHECK_EQUAL(cf_space_init(NULL, NULL), -EINVAL);
	o = options(0, 10, 0, 0);
	CHECK_EQUAL(cf_space_init(&s, &o), 0);
	CHECK_EQUAL(cf_space_take_blocks(&s, -1, 0), -EINVAL);
	CHECK_EQUAL(cf_space_take_blocks(&s, INT64_MAX, 0), -ENOSPC);
	CHECK_EQUAL(cf_space_return_blocks(&s, INT64_MIN), -EINVAL);
	CHECK_EQUAL(cf_space_take_blocks(&s, 0, 0), 0);
	cf_space_destroy(&s);
}

// A cache of so many blocks, which gives back four at a time, and at last what nobody expects.
static struct cache {
	struct cf_space *s;
	int64_t blocks, surprise, asked;
} cache;

static bool reclaim(void *argument, int64_t blocks)
{
	struct cache *c = argument;
	int64_t part = c->blocks < 4 ? c->blocks : 4;
	c->asked++;
	CHECK(blocks > 0);
	c->blocks -= part;
	CHECK_EQUAL(cf_space_return_blocks(c->s, part ? part : c->surprise), 0);
	c->surprise = part ? c->surprise : 0;
	return part > 0;
}

TEST("what can be reclaimed is, before a take is refused")
{
	EACH_KIND(kind)
	{
		struct cf_space s;
		struct cf_space_usage u;
		struct cf_space_options o = options(kind, 100, 20, 2);
		o.reclaim = reclaim;
		o.context = &cache;
		cache = (struct cache){ .s = &s, .blocks = 40 };
		CHECK_EQUAL(cf_space_init(&s, &o), 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 40, CF_SPACE_NO_RECLAIM), 0); // the cache's
		CHECK_EQUAL(cf_space_take_blocks(&s, 40, 0), 0);
		CHECK_EQUAL(cache.asked, 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 1, CF_SPACE_NO_RECLAIM), -ENOSPC);
		CHECK_EQUAL(cache.asked, 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 9, 0), 0);
		CHECK_EQUAL(cache.blocks, 28);
		CHECK_EQUAL(cf_space_take_blocks(&s, 32, 0), -ENOSPC); // 31 are there
		CHECK_EQUAL(cache.blocks, 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 31, 0), 0);
		CHECK_EQUAL(cf_space_take_blocks(&s, 1, 0), -ENOSPC);
		cache.surprise = 5; // somebody else's, after the cache had been looked at
		CHECK_EQUAL(cf_space_take_blocks(&s, 5, 0), 0);
		cf_space_usage(&s, &u);
		CHECK_EQUAL(u.free_blocks, 20);
		cf_space_destroy(&s);
	}
}

struct shared {
	struct cf_space s;
	int64_t in_use, kept[CREW_MAX], inodes_kept[CREW_MAX];
	int64_t capacity;
	long rounds;
};

// Files come and go: reserve, use some, return the rest; at times remove a file.
static void files(int id, void *argument)
{
	struct shared *x = argument;
	uint64_t random = (uint64_t)id + 5;
	int64_t kept = 0, inodes = 0;
	for (long i = 0; i < x->rounds; i++) {
		struct cf_space_reservation r;
		int64_t want = 1 + random_below(&random, 8), use = random_below(&random, (uint32_t)want + 1);
		unsigned flags = id == 0 ? CF_SPACE_PRIVILEGED : 0;
		if (cf_space_reserve(&x->s, &r, want, 1, flags)) {
			__atomic_fetch_sub(&x->in_use, kept, __ATOMIC_SEQ_CST);
			CHECK_EQUAL(cf_space_return_blocks(&x->s, kept), 0);
			CHECK_EQUAL(cf_space_return_inodes(&x->s, inodes), 0);
			kept = inodes = 0;
			continue;
		}
		CHECK(__atomic_add_fetch(&x->in_use, want, __ATOMIC_SEQ_CST) <= x->capacity);
		CHECK_EQUAL(cf_space_reservation_use(&r, use, 1), 0);
		__atomic_fetch_sub(&x->in_use, want - use, __ATOMIC_SEQ_CST);
		cf_space_reservation_end(&r);
		kept += use;
		inodes++;
	}
	x->kept[id] = kept;
	x->inodes_kept[id] = inodes;
}

TEST("no oversell, and nothing is lost")
{
	EACH_KIND(kind)
	{
		static struct shared x;
		struct cf_space_usage u;
		int64_t kept = 0, inodes = 0;
		struct cf_space_options o = options(kind, 500, 40, 120);
		memset(&x, 0, sizeof x);
		x.capacity = 500;
		x.rounds = scaled(2500);
		CHECK_EQUAL(cf_space_init(&x.s, &o), 0);
		crew_run(6, true, files, &x);
		for (int i = 0; i < 6; i++) {
			kept += x.kept[i];
			inodes += x.inodes_kept[i];
		}
		cf_space_usage(&x.s, &u);
		CHECK_EQUAL(u.free_blocks, 500 - kept);
		CHECK_EQUAL(u.free_inodes, 120 - inodes);
		CHECK_EQUAL(u.allocated_inodes, 120);
		cf_space_destroy(&x.s);
	}
}

static void one_each(int id, void *argument)
{
	struct shared *x = argument;
	for (long i = 0; i < x->rounds; i++) {
		if (id == 0) {
			CHECK_EQUAL(cf_space_take_blocks(&x->s, x->capacity + 1, CF_SPACE_PRIVILEGED), -ENOSPC);
			continue;
		}
		CHECK_EQUAL(cf_space_take_blocks(&x->s, 1, 0), 0);
		CHECK_EQUAL(cf_space_return_blocks(&x->s, 1), 0);
	}
}

TEST("no false refusal")
{
	EACH_KIND(kind)
	{
		static struct shared x;
		struct cf_space_options o = options(kind, 5 + 30, 30, 0);
		memset(&x, 0, sizeof x);
		x.capacity = 35;
		x.rounds = scaled(1500);
		CHECK_EQUAL(cf_space_init(&x.s, &o), 0);
		crew_run(6, true, one_each, &x);
		cf_space_destroy(&x.s);
	}
}

HARNESS_MAIN
