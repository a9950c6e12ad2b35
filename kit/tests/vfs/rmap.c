// SPDX-License-Identifier: MIT OR Apache-2.0
#include "threads.h"
#include <corefold/cf_rmap.h>

enum { INTERVALS = 300, PAGES = 1000, THREADS = 4 };

struct found {
	bool seen[INTERVALS];
	int64_t before;
	struct cf_rmap_interval *intervals;
	int count, most;
};

static bool note(struct cf_rmap_interval *i, void *argument)
{
	struct found *f = argument;
	long number = i - f->intervals;
	CHECK(!f->seen[number]);
	CHECK(i->first >= f->before);
	f->seen[number] = true;
	f->before = i->first;
	return ++f->count < f->most;
}

static void check_visit(struct cf_rmap *rmap, struct cf_rmap_interval *all, const bool *in, int64_t first, int64_t last)
{
	struct found f = { .intervals = all, .most = INTERVALS + 1 };
	cf_rmap_visit(rmap, first, last, note, &f);
	for (int i = 0; i < INTERVALS; i++)
		CHECK_EQUAL(f.seen[i], in[i] && all[i].first <= last && all[i].last >= first);
}

TEST("what overlaps is visited")
{
	static struct cf_rmap_interval all[INTERVALS];
	bool in[INTERVALS] = { false };
	struct cf_rmap rmap;
	uint64_t random = 3;
	cf_rmap_init(&rmap);
	for (long step = 0; step < scaled(4000); step++) {
		int i = (int)random_below(&random, INTERVALS);
		if (in[i]) {
			cf_rmap_remove(&rmap, &all[i]);
		} else {
			all[i].first = random_below(&random, PAGES);
			all[i].last = all[i].first + random_below(&random, random_below(&random, 10) ? 20 : PAGES);
			CHECK_EQUAL(cf_rmap_add(&rmap, &all[i]), 0);
		}
		in[i] = !in[i];
		int64_t first = random_below(&random, PAGES);
		check_visit(&rmap, all, in, first, first + random_below(&random, 50));
	}
	struct found f = { .intervals = all, .most = 2 };
	cf_rmap_visit(&rmap, 0, 2 * PAGES, note, &f);
	CHECK_EQUAL(f.count, 2); // until it is told to stop
	CHECK_EQUAL(cf_rmap_add(&rmap, &(struct cf_rmap_interval){ .first = 2, .last = 1 }), -EINVAL);
}

struct shared {
	struct cf_rmap rmap;
	struct cf_rmap_interval own[THREADS][8], stays;
	long rounds;
};

static bool count(struct cf_rmap_interval *i, void *argument)
{
	struct { struct cf_rmap_interval *stays; int found; } *f = argument;
	f->found += i == f->stays;
	return true;
}

static void add_and_remove(int id, void *argument)
{
	struct shared *x = argument;
	uint64_t random = (uint64_t)id;
	for (long r = 0; r < x->rounds; r++) {
		struct { struct cf_rmap_interval *stays; int found; } f = { &x->stays, 0 };
		for (int k = 0; k < 8; k++) {
			x->own[id][k].first = random_below(&random, PAGES);
			x->own[id][k].last = x->own[id][k].first + random_below(&random, 100);
			cf_rmap_add(&x->rmap, &x->own[id][k]);
		}
		cf_rmap_visit(&x->rmap, 50, 60, count, &f);
		CHECK_EQUAL(f.found, 1);
		for (int k = 0; k < 8; k++)
			cf_rmap_remove(&x->rmap, &x->own[id][k]);
	}
}

TEST("what stays is always found")
{
	static struct shared x;
	x.rounds = scaled(2000);
	cf_rmap_init(&x.rmap);
	x.stays = (struct cf_rmap_interval){ .first = 55, .last = 55 };
	cf_rmap_add(&x.rmap, &x.stays);
	vfs_crew(THREADS, add_and_remove, &x);
	CHECK(x.rmap.root == &x.stays && !x.stays.left && !x.stays.right);
}

VFS_MAIN
