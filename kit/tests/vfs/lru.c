// SPDX-License-Identifier: MIT OR Apache-2.0
#include "threads.h"
#include <corefold/cf_lru.h>

static struct cf_lru lru;

static void begin(bool one)
{
	const struct cf_lru_options options = { CF_LOCK_QUEUED, one, false };
	CHECK_EQUAL(cf_lru_init(&lru, &options), 0);
}

static enum cf_lru_answer answer_own(struct cf_lru_list *list, struct cf_lru_link *link, void *seen)
{
	(void)list;
	if (seen)
		++*(size_t *)seen;
	if (link->own == CF_LRU_GONE)
		cf_lru_isolate__(link);
	return (enum cf_lru_answer)link->own;
}

TEST("an object is on one list, once")
{
	struct cf_lru_link link = { .list = 0 };
	begin(false);
	CHECK(!cf_lru_listed(&link) && !cf_lru_remove(&lru, &link));
	CHECK(cf_lru_add(&lru, &link) && !cf_lru_add(&lru, &link));
	CHECK_EQUAL(cf_lru_count(&lru), 1);
	CHECK(cf_lru_remove(&lru, &link) && !cf_lru_remove(&lru, &link));
	CHECK_EQUAL(cf_lru_count(&lru), 0);
	cf_lru_destroy(&lru);
}

TEST("oldest first, and what each answer does")
{
	struct cf_lru_link links[5] = { { .own = CF_LRU_KEEP }, { .own = CF_LRU_ROTATE }, { .own = CF_LRU_REMOVE },
					{ .own = CF_LRU_BUSY }, { .own = CF_LRU_GONE } };
	struct cf_lru_link *gone = NULL;
	size_t seen = 0;
	begin(true);
	for (int i = 0; i < 5; i++)
		cf_lru_add(&lru, &links[i]);
	CHECK_EQUAL(cf_lru_scan(&lru, 100, answer_own, &seen, &gone), 1);
	CHECK_EQUAL(seen, 5); // each once, the rotated one too
	CHECK(gone == &links[2] && !gone->next && !cf_lru_listed(&links[2]) && !cf_lru_listed(&links[4]));
	CHECK_EQUAL(cf_lru_count(&lru), 3);
	CHECK(lru.lists[0].head.next == &links[0] && links[0].next == &links[3] && links[3].next == &links[1]);
	seen = 0;
	links[0].own = CF_LRU_STOP;
	CHECK_EQUAL(cf_lru_scan(&lru, 2, answer_own, &seen, &gone), 0);
	CHECK_EQUAL(seen, 1);
	links[0].own = links[3].own = links[1].own = CF_LRU_REMOVE;
	gone = NULL;
	CHECK_EQUAL(cf_lru_scan(&lru, 2, answer_own, &seen, &gone), 2);
	CHECK_EQUAL(seen, 3);
	CHECK(gone == &links[3] && gone->next == &links[0]);
	CHECK(cf_lru_remove(&lru, &links[1]) && cf_lru_count(&lru) == 0);
	cf_lru_destroy(&lru);
}

enum { OBJECTS = 64, THREADS = 4 };

static struct cf_lru_link objects[THREADS][OBJECTS];

static enum cf_lru_answer rotate(struct cf_lru_list *list, struct cf_lru_link *link, void *argument)
{
	(void)list;
	(void)link;
	(void)argument;
	return CF_LRU_ROTATE;
}

static void add_and_remove(int id, void *shared)
{
	uint64_t random = (uint64_t)id + 1;
	(void)shared;
	for (long i = 0; i < scaled(20000); i++) {
		struct cf_lru_link *link = &objects[id][random_below(&random, OBJECTS)], *gone = NULL;
		if (i % 32 == 0)
			cf_lru_scan(&lru, 100, rotate, NULL, &gone);
		else if (!cf_lru_remove(&lru, link))
			CHECK(cf_lru_add(&lru, link));
	}
}

TEST("adds, removes and scans on all CPUs lose nothing")
{
	size_t listed = 0;
	begin(false);
	crew_run(THREADS, true, add_and_remove, NULL);
	for (int id = 0; id < THREADS; id++)
		for (int i = 0; i < OBJECTS; i++)
			listed += cf_lru_listed(&objects[id][i]);
	CHECK_EQUAL(cf_lru_count(&lru), listed);
	for (int id = 0; id < THREADS; id++)
		for (int i = 0; i < OBJECTS; i++)
			listed -= cf_lru_remove(&lru, &objects[id][i]);
	CHECK_EQUAL(listed, 0);
	CHECK_EQUAL(cf_lru_count(&lru), 0);
	cf_lru_destroy(&lru);
}

static struct cf_lru_link single = { .own = CF_LRU_REMOVE };
static bool removed;

static void remove_single(void)
{
	removed = cf_lru_remove(&lru, &single);
}

TEST("of a remove and a scan that take the same object one has it")
{
	struct actor remover = { .act = remove_single, .cpu = 1, .stop_at = "lru: removing" };
	struct cf_lru_link *gone = NULL;
	if (!two_cpus())
		return;
	begin(false);
	cf_lru_add(&lru, &single);
	actor_start(&remover);
	CHECK(actor_wait_held(&remover));
	CHECK_EQUAL(cf_lru_scan(&lru, 10, answer_own, NULL, &gone), 1);
	actor_end(&remover);
	CHECK(!removed && gone == &single);
	CHECK_EQUAL(cf_lru_count(&lru), 0);
	cf_lru_destroy(&lru);
}

VFS_MAIN
