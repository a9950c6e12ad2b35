// SPDX-License-Identifier: MIT OR Apache-2.0
#include "threads.h"
#include <corefold/cf_icache.h>

#include <stdlib.h>

static struct cf_icache cache;
static long evicted, written, filled;
static int write_result;

static void on_evict(struct cf_inode *inode)
{
	(void)inode;
	__atomic_fetch_add(&evicted, 1, __ATOMIC_RELAXED);
}

static int on_write(struct cf_inode *inode)
{
	(void)inode;
	__atomic_fetch_add(&written, 1, __ATOMIC_RELAXED);
	return write_result;
}

static const struct cf_icache_ops ops = { .evict = on_evict, .write = on_write };

static void begin(void)
{
	evicted = written = filled = 0;
	write_result = 0;
	CHECK_EQUAL(cf_icache_init(&cache, &ops, NULL, 16), 0);
}

// Of as many inodes; returns how many were freed. The slabs' memory is back, too.
static long drop_all(void)
{
	struct cf_slab_stats stats;
	while (cf_icache_write_dirty(&cache, SIZE_MAX) || cf_icache_shrink(&cache, SIZE_MAX))
		;
	cf_rcu_barrier();
	cf_slab_shrink(&cache.memory);
	cf_slab_stats(&cache.memory, &stats);
	CHECK_EQUAL(stats.allocated, 0);
	CHECK_EQUAL(stats.bytes, 0);
	return (long)stats.frees;
}

static void end(long inodes)
{
	CHECK_EQUAL(drop_all(), inodes);
	CHECK_EQUAL(cf_icache_destroy(&cache), 0);
	CHECK_EQUAL(evicted, inodes);
}

TEST("a hashed inode is found, stays unused, and goes with the shrinker")
{
	struct cf_inode *inode;
	uint64_t number;
	begin();
	inode = cf_inode_new(&cache);
	number = inode->number;
	CHECK(!cf_inode_lookup(&cache, number));
	CHECK_EQUAL(cf_inode_insert(inode), 0);
	CHECK(cf_inode_lookup(&cache, number) == inode);
	cf_inode_put(inode);
	cf_inode_put(inode);
	CHECK_EQUAL(cf_icache_unused(&cache), 1);
	CHECK_EQUAL(cf_icache_count(&cache), 1);
	CHECK(cf_inode_lookup(&cache, number) == inode);
	CHECK_EQUAL(cf_icache_shrink(&cache, 10), 0); // in use
	CHECK_EQUAL(cf_icache_unused(&cache), 0);
	cf_inode_put(inode);
	CHECK_EQUAL(cf_icache_unused(&cache), 1);
	CHECK_EQUAL(cf_icache_shrink(&cache, 10), 1);
	CHECK(!cf_inode_lookup(&cache, number));
	end(1);
}

TEST("without names or a place in the table it goes at the last put")
{
	struct cf_inode *inode;
	begin();
	cf_inode_put(cf_inode_new(&cache));
	CHECK_EQUAL(evicted, 1);
	inode = cf_inode_new(&cache);
	cf_inode_insert(inode);
	CF_INODE_STORE(inode, nlink, 0);
	cf_inode_put(inode);
	CHECK_EQUAL(evicted, 2);
	inode = cf_inode_new(&cache);
	cf_inode_insert(inode);
	cf_inode_get(inode);
	cf_inode_put(inode);
	cf_inode_put(inode); // unused
	CHECK(cf_inode_lookup(&cache, inode->number) == inode);
	cf_inode_unhash(inode);
	CHECK(!cf_inode_lookup(&cache, inode->number));
	cf_inode_put(inode);
	CHECK_EQUAL(evicted, 3);
	end(3);
}

TEST("two inodes do not have one number")
{
	struct cf_inode *inode;
	bool made;
	begin();
	inode = cf_inode_get_or_new(&cache, 77, &made);
	CHECK(made && inode->number == 77);
	cf_inode_done(inode);
	CHECK(cf_inode_get_or_new(&cache, 77, &made) == inode && !made);
	cf_inode_put(inode);
	cf_inode_put(inode);
	end(1);
}

TEST("what could not be filled is not found, and the next caller tries again")
{
	struct cf_inode *inode;
	bool made;
	begin();
	cf_inode_failed(cf_inode_get_or_new(&cache, 5, &made));
	CHECK(made && evicted == 1);
	inode = cf_inode_get_or_new(&cache, 5, &made);
	CHECK(made);
	cf_inode_done(inode);
	cf_inode_put(inode);
	end(2);
}

TEST("dirty inodes are written, and not evicted before")
{
	struct cf_inode *inode;
	begin();
	inode = cf_inode_new(&cache);
	cf_inode_insert(inode);
	cf_inode_mark_dirty(inode);
	cf_inode_mark_dirty(inode);
	cf_inode_put(inode);
	CHECK_EQUAL(cf_icache_shrink(&cache, 10), 0);
	write_result = -EIO;
	CHECK_EQUAL(cf_icache_write_dirty(&cache, 10), 0);
	CHECK_EQUAL(written, 1);
	CHECK_EQUAL(cf_icache_shrink(&cache, 10), 0); // still dirty
	write_result = 0;
	CHECK_EQUAL(cf_icache_write_dirty(&cache, 10), 1);
	CHECK_EQUAL(cf_icache_write_dirty(&cache, 10), 0);
	CHECK_EQUAL(cf_icache_shrink(&cache, 10), 1);
	end(1);
}

enum { NUMBERS = 3000, TAKERS = 4 };
static uint64_t taken[TAKERS][NUMBERS];

static void take_numbers(int id, void *shared)
{
	(void)shared;
	for (int i = 0; i < NUMBERS; i++)
		taken[id][i] = cf_icache_number(&cache);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

TEST("numbers are unique, and not 0")
{
	uint64_t *all = &taken[0][0];
	begin();
	crew_run(TAKERS, true, take_numbers, NULL);
	qsort(all, NUMBERS * TAKERS, sizeof *all, by_value);
	CHECK(all[0] > 0);
	for (int i = 1; i < NUMBERS * TAKERS; i++)
		CHECK(all[i] != all[i - 1]);
	end(0);
}

static void fill_slowly(int id, void *shared)
{
	bool made;
	struct cf_inode *inode = cf_inode_get_or_new(&cache, 9, &made);
	(void)id;
	(void)shared;
	if (made) {
		usleep(3000);
		inode->mode = 0600;
		filled++;
		cf_inode_done(inode);
	}
	CHECK_EQUAL(inode->mode, 0600);
	cf_inode_put(inode);
}

TEST("one fills it, and the others wait until it is filled")
{
	for (int round = 0; round < 5; round++) {
		begin();
		vfs_crew(4, fill_slowly, NULL);
		CHECK_EQUAL(filled, 1);
		end(evicted + 1); // those that came second are gone
	}
}

static uint64_t written_by[2];

static void write_and_put(int id, void *inode)
{
	written_by[id] = 1; // on_evict reads it
	cf_inode_put(inode);
}

static void see_what_was_written(struct cf_inode *inode)
{
	CHECK(written_by[0] && written_by[1]);
	on_evict(inode);
}

TEST("a put comes before the eviction, with what its holder did")
{
	const struct cf_icache_ops looking = { .evict = see_what_was_written };
	for (int round = 0; round < 50; round++) {
		struct cf_inode *inode;
		begin();
		cache.ops = &looking;
		written_by[0] = written_by[1] = 0;
		inode = cf_inode_new(&cache);
		cf_inode_get(inode);
		vfs_crew(2, write_and_put, inode);
		end(1);
	}
}

// Few numbers, many threads: made, found, put, unlinked and shrunk.
static void storm_work(int id, void *shared)
{
	uint64_t random = (uint64_t)id * 31 + 7;
	(void)shared;
	for (long i = 0; i < scaled(20000); i++) {
		bool made;
		struct cf_inode *inode = cf_inode_get_or_new(&cache, 1 + random_below(&random, 8), &made);
		if (made) {
			inode->mode = 0644;
			__atomic_fetch_add(&filled, 1, __ATOMIC_RELAXED);
			cf_inode_done(inode);
		}
		CHECK_EQUAL(inode->mode, 0644);
		if (random_below(&random, 8) == 0)
			cf_inode_mark_dirty(inode);
		if (random_below(&random, 16) == 0)
			cf_inode_unhash(inode);
		cf_inode_put(inode);
		if (id == 0 && i % 16 == 0)
			cf_icache_shrink(&cache, 4);
		if (id == 1 && i % 64 == 0)
			cf_icache_write_dirty(&cache, 8);
		cf_rcu_relax();
	}
}

TEST("storm: every inode that was made is evicted once, and freed")
{
	begin();
	vfs_crew(4, storm_work, NULL);
	CHECK_EQUAL(drop_all(), evicted);
	CHECK_EQUAL(cf_icache_destroy(&cache), 0);
	CHECK(evicted >= filled && filled > 8);
}

// --- Steps held apart.

static struct cf_inode *shared_inode;

static void put_shared(void)
{
	cf_rcu_register_thread();
	cf_inode_put(shared_inode);
	cf_rcu_unregister_thread();
}

static void shrink_shared(void)
{
	cf_rcu_register_thread();
	cf_icache_shrink(&cache, 1);
	cf_rcu_unregister_thread();
}

// An inode that was used before, so that its last put needs no lock.
static void begin_shared(void)
{
	begin();
	shared_inode = cf_inode_new(&cache);
	cf_inode_insert(shared_inode);
	cf_inode_put(shared_inode);
	CHECK(cf_inode_lookup(&cache, shared_inode->number) == shared_inode);
}

TEST("a put beside an unlink or a removal from the table evicts it")
{
	for (int unhash = 0; two_cpus() && CF_VFS_INODES_SPLIT && unhash < 2; unhash++) {
		struct actor putter = { .act = put_shared, .cpu = 1, .stop_at = "inode: put" };
		begin_shared();
		actor_start(&putter);
		CHECK(actor_wait_held(&putter));
		if (unhash)
			cf_inode_unhash(shared_inode);
		else
			CF_INODE_STORE(shared_inode, nlink, 0);
		actor_end(&putter);
		CHECK_EQUAL(evicted, 1);
		end(1);
	}
}

TEST("a put beside the shrinker leaves it on the list")
{
	struct actor shrinker = { .act = shrink_shared, .cpu = 1, .stop_at = "inode: isolating" };
	struct actor putter = { .act = put_shared, .cpu = 0 };
	if (!two_cpus() || !CF_VFS_INODES_SPLIT)
		return;
	begin_shared();
	actor_start(&shrinker);
	CHECK(actor_wait_held(&shrinker));
	actor_start(&putter);
	(void)actor_finishes(&putter);
	actor_end(&shrinker);
	actor_end(&putter);
	CHECK_EQUAL(cf_icache_unused(&cache), 1);
	end(1);
}

VFS_MAIN
