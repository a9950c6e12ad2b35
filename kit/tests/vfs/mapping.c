// SPDX-License-Identifier: MIT OR Apache-2.0
// A file's page cache: each guarantee of cf_mapping.h.
#include "threads.h"
#include <corefold/cf_mapping.h>

static struct cf_space space;
static struct cf_icache icache;
static struct cf_inode *inode;
static struct cf_mapping map;

enum { ALL = 100 * CF_PAGE };

static void begin(void)
{
	struct cf_space_options o = { .kind = CF_COUNTER_ADAPTIVE, .blocks = ALL, .inodes = 1 };
	CHECK_EQUAL(cf_space_init(&space, &o), 0);
	CHECK_EQUAL(cf_icache_init(&icache, NULL, NULL, 0), 0);
	inode = cf_inode_new(&icache);
	cf_mapping_init(&map, inode, &space);
}

static int64_t charged(void)
{
	struct cf_space_usage usage;
	cf_space_usage(&space, &usage);
	return ALL - usage.free_blocks;
}

static void end(void)
{
	cf_mapping_destroy(&map);
	CHECK_EQUAL(charged(), 0);
	CHECK_EQUAL(cf_mapping_write(&map, "x", 1, 0), -EBADF);
	CHECK_EQUAL(cf_mapping_read(&map, (char[1]){ 0 }, 1, 0), -EBADF);
	CHECK_EQUAL(charged(), 0);
	cf_inode_put(inode);
	CHECK_EQUAL(cf_icache_destroy(&icache), 0);
	cf_rcu_barrier();
	cf_space_destroy(&space);
}

TEST("charges are exact")
{
	begin();
	CHECK_EQUAL(cf_mapping_write(&map, "a", 1, 0), 1);
	CHECK_EQUAL(charged(), CF_PAGE); // one page needs no node
	CHECK_EQUAL(cf_mapping_write(&map, "a", 1, CF_PAGE), 1);
	CHECK_EQUAL(charged(), 2 * CF_PAGE + CF_CHARGE_NODE);
	CHECK_EQUAL(cf_mapping_write(&map, "a", 1, 64 * CF_PAGE), 1);
	CHECK_EQUAL(charged(), 3 * CF_PAGE + 3 * CF_CHARGE_NODE); // a root, and two below
	CHECK_EQUAL(cf_mapping_write(&map, "a", 1, INT64_MAX - 1), 1);
	CHECK_EQUAL(charged(), 4 * CF_PAGE + (3 + 7 + 8) * CF_CHARGE_NODE); // nine levels
	cf_mapping_truncate(&map, 64 * CF_PAGE);
	CHECK_EQUAL(charged(), 2 * CF_PAGE + CF_CHARGE_NODE);
	cf_mapping_truncate(&map, 1);
	CHECK_EQUAL(charged(), CF_PAGE);
	cf_mapping_truncate(&map, 0);
	CHECK_EQUAL(charged(), 0);
	CHECK_EQUAL(inode->blocks, 0);
	end();
}

TEST("what was cut off is gone")
{
	char bytes[3 * CF_PAGE];
	begin();
	memset(bytes, 'x', sizeof bytes);
	CHECK_EQUAL(cf_mapping_write(&map, bytes, sizeof bytes, 0), sizeof bytes);
	cf_mapping_truncate(&map, CF_PAGE + 10);
	cf_mapping_truncate(&map, sizeof bytes);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, sizeof bytes, 0), sizeof bytes);
	for (int i = 0; i < (int)sizeof bytes; i++)
		CHECK_EQUAL(bytes[i], i < CF_PAGE + 10 ? 'x' : 0);
	CHECK_EQUAL(inode->blocks, 2 * CF_PAGE / 512);
	end();
}

TEST("no space: what was written is returned, and a failure changes nothing")
{
	static char bytes[200 * CF_PAGE];
	begin();
	CHECK_EQUAL(cf_mapping_write(&map, bytes, sizeof bytes, 10), 99 * CF_PAGE - 10);
	int64_t before = charged();
	CHECK_EQUAL(cf_mapping_write(&map, bytes, 1, 150 * CF_PAGE), -ENOSPC);
	CHECK_EQUAL(charged(), before);
	CHECK_EQUAL(inode->size, 99 * CF_PAGE);
	CHECK_EQUAL(cf_mapping_append(&map, bytes, 1, &before), -ENOSPC);
	end();
}

TEST("data and holes are found")
{
	begin();
	CHECK_EQUAL(cf_mapping_next(&map, 0, false), -1);
	CHECK_EQUAL(cf_mapping_next(&map, 0, true), 0);
	cf_mapping_write(&map, "a", 1, 5 * CF_PAGE);
	cf_mapping_write(&map, "a", 1, 6 * CF_PAGE);
	cf_mapping_write(&map, "a", 1, INT64_C(70000) * CF_PAGE);
	CHECK_EQUAL(cf_mapping_next(&map, 0, false), 5);
	CHECK_EQUAL(cf_mapping_next(&map, 5, true), 7);
	CHECK_EQUAL(cf_mapping_next(&map, 7, false), 70000);
	CHECK_EQUAL(cf_mapping_next(&map, 70001, false), -1);
	CHECK_EQUAL(cf_mapping_next(&map, INT64_MAX / CF_PAGE, false), -1);
	end();
}

// --- By many threads.

enum { THREADS = 4, PART = 3000 };

static void whole_pages(int id, void *rounds)
{
	char bytes[PART];
	uint64_t random = (uint64_t)id;
	for (long i = 0; i < *(long *)rounds; i++) {
		int64_t at = 500, got;
		if (id % 2) {
			memset(bytes, (int)i % 100 + 1, PART);
			CHECK_EQUAL(cf_mapping_write(&map, bytes, PART, at), PART);
			if (random_below(&random, 8) == 0)
				cf_mapping_truncate(&map, random_below(&random, 2) ? 0 : 1000);
		}
		got = cf_mapping_read(&map, bytes, PART, at);
		for (int64_t k = 1; k < got; k++)
			if (bytes[k] != bytes[0]) {
				CHECK_EQUAL(bytes[k], bytes[0]);
				break;
			}
	}
}

TEST("a page is read whole")
{
	long rounds = scaled(5000);
	begin();
	vfs_crew(THREADS, whole_pages, &rounds);
	end();
}

static void append(int id, void *rounds)
{
	char bytes[100];
	int64_t at, last = -1;
	memset(bytes, id + 1, sizeof bytes);
	for (long i = 0; i < *(long *)rounds; i++) {
		CHECK_EQUAL(cf_mapping_append(&map, bytes, sizeof bytes, &at), sizeof bytes);
		CHECK(at > last && at % 100 == 0);
		last = at;
	}
}

TEST("appends do not overlap")
{
	long rounds = 500, counts[THREADS + 1] = { 0 };
	char bytes[100];
	begin();
	vfs_crew(THREADS, append, &rounds);
	CHECK_EQUAL(inode->size, THREADS * rounds * 100);
	for (int64_t at = 0; at < THREADS * rounds * 100; at += 100) {
		CHECK_EQUAL(cf_mapping_read(&map, bytes, 100, at), 100);
		for (int i = 1; i < 100; i++)
			CHECK_EQUAL(bytes[i], bytes[0]);
		counts[(int)bytes[0]]++;
	}
	for (int id = 0; id < THREADS; id++)
		CHECK_EQUAL(counts[id + 1], rounds);
	end();
}

// Writers at the end of what one page holds, while another cuts: no byte behind the end survives.
static void cut_and_grow(int id, void *rounds)
{
	char bytes[CF_PAGE];
	memset(bytes, 'x', sizeof bytes);
	for (long i = 0; i < *(long *)rounds; i++) {
		if (id == 0) {
			cf_mapping_truncate(&map, 10);
			cf_mapping_truncate(&map, 2 * CF_PAGE);
		} else {
			CHECK_EQUAL(cf_mapping_write(&map, bytes, 50, id * 100), 50);
		}
	}
}

TEST("what is cut off beside writers is gone")
{
	long rounds = scaled(5000);
	char bytes[CF_PAGE];
	begin();
	vfs_crew(THREADS, cut_and_grow, &rounds);
	cf_mapping_truncate(&map, 10);
	cf_mapping_truncate(&map, CF_PAGE);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, CF_PAGE, 0), CF_PAGE);
	for (int i = 10; i < CF_PAGE; i++)
		CHECK_EQUAL(bytes[i], 0);
	end();
}

VFS_MAIN
