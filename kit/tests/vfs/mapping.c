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
	inode->size = 5;
	cf_mapping_truncate(&map, 10);
	CHECK_EQUAL(inode->size, 5);
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

// --- One is held at a place while the file changes under it.

static char buffer[50];
static int64_t result;

static void write_there(void)
{
	cf_rcu_register_thread();
	memset(buffer, 'x', sizeof buffer);
	result = cf_mapping_write(&map, buffer, sizeof buffer, 100);
	cf_rcu_unregister_thread();
}

static void read_there(void)
{
	cf_rcu_register_thread();
	result = cf_mapping_read(&map, buffer, sizeof buffer, 100);
	cf_rcu_unregister_thread();
}

static void hold(struct actor *a)
{
	actor_start(a);
	CHECK(actor_wait_held(a));
}

static void check_written(int64_t size)
{
	char bytes[200] = { 0 };
	CHECK_EQUAL(result, sizeof buffer);
	CHECK_EQUAL(inode->size, size);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, sizeof bytes, 0), size < 200 ? size : 200);
	for (int i = 0; i < 150; i++)
		CHECK_EQUAL(bytes[i], i < 100 ? 0 : 'x');
}

TEST("a write whose page is cut meanwhile makes the file longer again")
{
	struct actor writer = { .act = write_there, .stop_at = "mapping: write, found" };
	begin();
	cf_mapping_write(&map, (char[200]){ 0 }, 200, 0);
	hold(&writer);
	cf_mapping_truncate(&map, 10);
	actor_end(&writer);
	check_written(150);
	end();
}

TEST("a write whose page is removed meanwhile goes to the new one")
{
	struct actor writer = { .act = write_there, .stop_at = "mapping: write, found" };
	begin();
	cf_mapping_write(&map, (char[200]){ 0 }, 200, 0);
	hold(&writer);
	cf_mapping_truncate(&map, 0);
	cf_mapping_write(&map, (char[1]){ 0 }, 1, 199);
	actor_end(&writer);
	check_written(200);
	end();
}

TEST("a page that is cut ends where the file does")
{
	static char bytes[2 * CF_PAGE];
	begin();
	memset(bytes, 'x', sizeof bytes);
	CHECK_EQUAL(cf_mapping_write(&map, bytes, sizeof bytes, 0), sizeof bytes);
	cf_mapping_truncate(&map, 100);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, sizeof bytes, 0), 100);
	CHECK_EQUAL(cf_mapping_write(&map, bytes, 10, 150), 10);
	CHECK_EQUAL(inode->size, 160);
	cf_mapping_truncate(&map, CF_PAGE);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, sizeof bytes, 0), CF_PAGE);
	end();
}

static void cut_all_there(void)
{
	cf_rcu_register_thread();
	cf_mapping_truncate(&map, 0);
	cf_rcu_unregister_thread();
}

// The pages are there yet, and all of them lay before the end.
TEST("who has seen that a file is shorter reads and writes a shorter one")
{
	static char bytes[2 * CF_PAGE];
	struct actor cutter = { .act = cut_all_there, .stop_at = "mapping: shorter" };
	struct actor writer = { .act = write_there };
	begin();
	CHECK_EQUAL(cf_mapping_write(&map, bytes, sizeof bytes, 0), sizeof bytes);
	hold(&cutter);
	CHECK_EQUAL(inode->size, 0);
	CHECK_EQUAL(cf_mapping_read(&map, bytes, sizeof bytes, 0), 0);
	actor_start(&writer);
	CHECK(!actor_finishes(&writer));
	actor_end(&cutter);
	actor_end(&writer);
	check_written(150);
	end();
}

static void append_there(void)
{
	int64_t offset;
	cf_rcu_register_thread();
	result = cf_mapping_append(&map, (char[1]){ 'x' }, 1, &offset);
	cf_rcu_unregister_thread();
}

static void cut_there(void)
{
	cf_rcu_register_thread();
	cf_mapping_truncate(&map, 0);
	cf_rcu_unregister_thread();
}

// A truncation begins while the other is held in the midst of its own change, and ends after it.
static void cut_beside(struct actor *other)
{
	struct actor cutter = { .act = cut_there };
	begin();
	cf_mapping_write(&map, (char[200]){ 0 }, 200, 0);
	hold(other);
	actor_start(&cutter);
	usleep(20000);
	CHECK(!__atomic_load_n(&cutter.done, __ATOMIC_ACQUIRE));
	actor_end(other);
	actor_end(&cutter);
	CHECK_EQUAL(inode->size, 0);
	CHECK_EQUAL(charged(), 0);
	end();
}

TEST("a page is not removed while a write is in it")
{
	cut_beside(&(struct actor){ .act = write_there, .stop_at = "mapping: write, locked" });
}

TEST("a file is not cut while an append is under way")
{
	cut_beside(&(struct actor){ .act = append_there, .stop_at = "mapping: appending" });
}

TEST("a read whose hole is filled meanwhile reads what fills it")
{
	struct actor reader = { .act = read_there, .stop_at = "mapping: read, found" };
	char bytes[200];
	begin();
	memset(bytes, 'y', sizeof bytes);
	hold(&reader);
	cf_mapping_write(&map, bytes, sizeof bytes, 0);
	actor_end(&reader);
	CHECK_EQUAL(result, sizeof buffer);
	CHECK_EQUAL(buffer[0], 'y');
	end();
}

TEST("a read of a hole beside a file that becomes longer and shorter is as the file was")
{
	struct actor reader = { .act = read_there, .stop_at = "mapping: read, found" };
	char bytes[200];
	begin();
	memset(bytes, 'y', sizeof bytes);
	hold(&reader); // of an empty file
	cf_mapping_write(&map, bytes, sizeof bytes, 0);
	__atomic_store_n(&reader.stop_at, "mapping: read, copied", __ATOMIC_RELAXED);
	sem_post(&reader.go_on);
	CHECK(actor_wait_held(&reader)); // it has seen how long the file is, and no page
	cf_mapping_truncate(&map, 0);
	actor_end(&reader);
	CHECK_EQUAL(result, 0); // the file never was of zeroes
	end();
}

static void fill_there(void)
{
	char bytes[40];
	memset(bytes, 'y', sizeof bytes);
	cf_rcu_register_thread();
	cf_mapping_write(&map, bytes, sizeof bytes, 100);
	cf_rcu_unregister_thread();
}

TEST("a write into a hole that makes the file longer is read as a whole")
{
	struct actor writer = { .act = fill_there, .stop_at = "mapping: write, inserted" }, reader = { .act = read_there };
	begin();
	cf_mapping_truncate(&map, 120);
	hold(&writer);
	actor_start(&reader);
	CHECK(!actor_finishes(&reader));
	actor_end(&writer);
	actor_end(&reader);
	CHECK_EQUAL(result, 40);
	CHECK_EQUAL(buffer[39], 'y');
	end();
}

static void read_far_there(void)
{
	cf_rcu_register_thread();
	result = cf_mapping_read(&map, buffer, sizeof buffer, 64 * CF_PAGE);
	cf_rcu_unregister_thread();
}

// The reader stands at a node, of which `skip` have been passed.
static void cut_under_reader(int skip, int64_t size)
{
	struct actor reader = { .act = read_far_there, .stop_at = "mapping: in the tree", .skip = skip };
	begin();
	cf_mapping_write(&map, "x", 1, 0);
	cf_mapping_write(&map, "x", 1, 64 * CF_PAGE);
	hold(&reader);
	cf_mapping_truncate(&map, size);
	actor_end(&reader);
	CHECK_EQUAL(result, 0);
	end();
}

TEST("nodes of the tree are there for as long as a reader is in them")
{
	cut_under_reader(1, 0);
	cut_under_reader(0, CF_PAGE);
}

static void cut_all(void)
{
	cf_rcu_register_thread();
	cf_mapping_truncate(&map, 0);
	cf_rcu_unregister_thread();
}

TEST("a page is out of its tree before it is queued to be freed")
{
	const int64_t pages[] = { 0, 64 };
	for (int i = 0; i < 2; i++) {
		struct actor cutter = { .act = cut_all, .stop_at = "rcu: to be queued", .skip = 2 * i };
		begin(); // a node is queued between them
		cf_mapping_write(&map, "x", 1, 0);
		cf_mapping_write(&map, "x", 1, 64 * CF_PAGE);
		hold(&cutter);
		CHECK(cf_mapping_next(&map, pages[i], false) != pages[i]);
		actor_end(&cutter);
		end();
	}
}

static void remove_under_reader(const char *stop_at)
{
	struct actor reader = { .act = read_there, .stop_at = stop_at };
	char bytes[200];
	begin();
	memset(bytes, 'y', sizeof bytes);
	cf_mapping_write(&map, bytes, sizeof bytes, 0);
	hold(&reader);
	cf_mapping_truncate(&map, 0);
	cf_mapping_truncate(&map, sizeof bytes);
	actor_end(&reader);
	CHECK_EQUAL(result, sizeof buffer);
	CHECK_EQUAL(buffer[0], 0); // the file had these 200 bytes at one time, and is as long with zeroes now: not both
	end();
}

TEST("a read whose page is removed meanwhile reads what the file has now")
{
	remove_under_reader("mapping: read, looked up");
	remove_under_reader("mapping: read, found");
}

VFS_MAIN
