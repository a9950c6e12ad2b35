// SPDX-License-Identifier: MIT OR Apache-2.0
#include "threads.h"
#include <corefold/cf_rhash.h>

#include <stdlib.h>

struct item {
	struct cf_rhash_entry entry;
	struct cf_rcu_head rcu;
	uint32_t key, value;
};

static struct cf_rhash table;

static struct item *item_of(const struct cf_rhash_entry *entry)
{
	return (struct item *)(uintptr_t)((const char *)entry - offsetof(struct item, entry));
}

static bool same(const struct cf_rhash_entry *entry, const void *key)
{
	return __atomic_load_n(&item_of(entry)->key, __ATOMIC_ACQUIRE) == *(const uint32_t *)key;
}

// For ThreadSanitizer to see.
static bool same_plain(const struct cf_rhash_entry *entry, const void *key)
{
	return item_of(entry)->key == *(const uint32_t *)key;
}

static uint32_t hash_of(uint32_t key)
{
	return key * 2654435761u;
}

static void free_item(struct cf_rcu_head *head)
{
	free((char *)head - offsetof(struct item, rcu));
}

static struct item *insert(uint32_t key)
{
	struct item *item = calloc(1, sizeof *item);
	item->key = key;
	if (!cf_rhash_insert_unique(&table, &item->entry, hash_of(key), same, &key))
		return item;
	free(item);
	return NULL;
}

static bool present(uint32_t key)
{
	bool found;
	cf_rcu_read_lock();
	found = cf_rhash_find(&table, hash_of(key), same, &key) != NULL;
	cf_rcu_read_unlock();
	return found;
}

// Takes it out, if this thread is the one who does.
static bool remove_key(uint32_t key)
{
	struct cf_rhash_entry *entry;
	bool removed;
	cf_rcu_read_lock();
	entry = cf_rhash_find(&table, hash_of(key), same, &key);
	removed = entry && cf_rhash_remove(&table, entry);
	if (removed)
		cf_rcu_call(&item_of(entry)->rcu, free_item);
	cf_rcu_read_unlock();
	cf_rcu_relax();
	return removed;
}

static void begin(uint32_t buckets, uint32_t flags)
{
	const struct cf_rhash_options options = { .buckets = buckets, .flags = flags };
	CHECK_EQUAL(cf_rhash_init(&table, &options), 0);
}

static void end(uint32_t keys)
{
	for (uint32_t key = 0; key < keys; key++)
		remove_key(key);
	CHECK_EQUAL(cf_rhash_count(&table), 0);
	cf_rcu_barrier();
	cf_rhash_destroy(&table);
}

static bool count_one(struct cf_rhash_entry *entry, void *counts)
{
	CHECK(table.resizing); // nobody begins a resize
	((uint32_t *)counts)[item_of(entry)->key]++;
	return true;
}

TEST("insert, find, remove; one of two with one key")
{
	struct item *item;
	begin(4, 0);
	CHECK((item = insert(7)) != NULL);
	CHECK(!insert(7));
	CHECK(present(7) && !present(8));
	CHECK_EQUAL(cf_rhash_count(&table), 1);
	CHECK(remove_key(7));
	CHECK(!remove_key(7) && !present(7));
	end(0);
}

TEST("no options are the defaults")
{
	CHECK_EQUAL(cf_rhash_init(&table, NULL), 0);
	CHECK_EQUAL(cf_rhash_buckets(&table), 64);
	end(0);
}

TEST("the table grows and shrinks with its entries")
{
	enum { KEYS = 3000 };
	begin(4, 0);
	for (uint32_t key = 0; key < KEYS; key++) {
		CHECK(insert(key) != NULL);
		if ((key & (key + 1)) == 0)
			cf_rcu_barrier(); // so that the next resize may follow
	}
	CHECK(cf_rhash_buckets(&table) >= KEYS);
	CHECK(table.resizes >= 3);
	for (uint32_t key = 0; key < KEYS; key++)
		CHECK(present(key));
	for (uint32_t key = 0; key < KEYS - 4; key++)
		CHECK(remove_key(key));
	for (int i = 0; i < 100 && cf_rhash_buckets(&table) > 16; i++)
		cf_rcu_barrier(); // one resize after the other
	CHECK(cf_rhash_buckets(&table) <= 16);
	for (uint32_t key = KEYS - 4; key < KEYS; key++)
		CHECK(present(key));
	cf_rcu_barrier();
	end(KEYS);
}

TEST("the table has its size whatever its hashes have in common")
{
	enum { ENTRIES = 3000 };
	static struct cf_rhash_entry entries[ENTRIES];
	const struct { uint32_t step, first; } hashes[] = { { 1, 0 }, { 2, 1 }, { 64, 1 }, { 64, 63 }, { 2654435761u, 0 } };
	for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
		begin(64, 0);
		for (uint32_t j = 0; j < ENTRIES; j++)
			cf_rhash_insert(&table, &entries[j], j * hashes[i].step + hashes[i].first);
		cf_rcu_barrier();
		CHECK(cf_rhash_buckets(&table) >= ENTRIES / 2);
		for (uint32_t j = 0; j < ENTRIES; j++)
			CHECK(cf_rhash_remove(&table, &entries[j]));
		cf_rcu_barrier();
		CHECK(cf_rhash_buckets(&table) <= 512);
		end(0);
	}
}

// What a change costs while the table is resized is bounded: it moves a part, and no change waits for all of them.
TEST("a resize is done by the changes that come, a part by each")
{
	enum { BUCKETS = 1024, PART = 16 };
	uint32_t key = 0, moved = 0, changes = 0;
	begin(BUCKETS, 0);
	while (!table.resizing)
		CHECK(insert(key++) != NULL);
	CHECK(key > BUCKETS);
	CHECK_EQUAL(cf_rhash_buckets(&table), BUCKETS);
	for (; cf_rhash_buckets(&table) == BUCKETS; changes++) {
		CHECK(table.moved <= moved + PART);
		moved = table.moved;
		CHECK(changes % 2 ? remove_key(--key) : insert(key++) != NULL);
	}
	CHECK_EQUAL(changes, BUCKETS / PART - 1); // one began it
	for (uint32_t i = 0; i < key; i++)
		CHECK(present(i));
	end(key);
}

TEST("a table is walked in the midst of a resize")
{
	uint32_t counts[1000] = { 0 }, key = 0;
	begin(256, 0);
	while (!table.resizing)
		CHECK(insert(key++) != NULL);
	cf_rhash_for_each(&table, count_one, counts);
	for (uint32_t i = 0; i < key; i++)
		CHECK_EQUAL(counts[i], 1);
	end(key);
}

TEST("a table is destroyed in the midst of a resize")
{
	struct item *items[1000];
	uint32_t key = 0;
	begin(256, 0);
	for (; !table.resizing && key < 1000; key++)
		CHECK((items[key] = insert(key)) != NULL);
	CHECK(table.moved < 256);
	cf_rhash_destroy(&table);
	while (key > 0)
		free(items[--key]);
}

TEST("a table of fixed size under its user's lock")
{
	begin(4, CF_RHASH_EXTERNAL_LOCK);
	for (uint32_t key = 0; key < 100; key++)
		CHECK(insert(key) != NULL);
	CHECK_EQUAL(cf_rhash_buckets(&table), 4);
	for (uint32_t key = 0; key < 100; key++)
		CHECK(present(key));
	end(100);
}

TEST("replace: a reader sees one of the two")
{
	struct item *old, *fresh = calloc(1, sizeof *fresh);
	begin(1, 0);
	for (uint32_t key = 0; key < 3; key++)
		insert(key);
	old = item_of(cf_rhash_find(&table, hash_of(1), same, &(uint32_t){ 1 }));
	fresh->key = 1;
	CHECK(cf_rhash_replace(&table, &old->entry, &fresh->entry));
	CHECK(!cf_rhash_replace(&table, &old->entry, &fresh->entry));
	CHECK(item_of(cf_rhash_find(&table, hash_of(1), same, &(uint32_t){ 1 })) == fresh);
	CHECK(present(0) && present(2));
	cf_rcu_call(&old->rcu, free_item);
	end(3);
}

static void set_key(struct cf_rhash_entry *entry, void *key)
{
	struct item *item = item_of(entry);
	cf_rhash_seq_write_begin(entry);
	__atomic_store_n(&item->key, *(uint32_t *)key, __ATOMIC_RELEASE);
	cf_rhash_seq_write_end(entry);
}

TEST("move: the entry has its new key, and its sequence says so")
{
	struct item *item;
	uint32_t seq, key = 9;
	begin(8, 0);
	item = insert(1);
	seq = cf_rhash_seq_begin(&item->entry);
	CHECK(!cf_rhash_seq_changed(&item->entry, seq));
	CHECK(cf_rhash_move(&table, &item->entry, hash_of(9), set_key, &key));
	CHECK(cf_rhash_seq_changed(&item->entry, seq));
	CHECK(present(9) && !present(1));
	end(10);
}

TEST("for_each visits each entry once when nothing changes")
{
	uint32_t counts[100] = { 0 };
	begin(256, 0); // no resize has been
	for (uint32_t key = 0; key < 100; key++)
		insert(key);
	cf_rhash_for_each(&table, count_one, counts);
	for (uint32_t key = 0; key < 100; key++)
		CHECK_EQUAL(counts[key], 1);
	end(100);
}

enum { MEANWHILE = 1000 };

static void insert_meanwhile(void)
{
	cf_rcu_register_thread();
	for (uint32_t key = 1; key < MEANWHILE; key++)
		insert(key);
	cf_rcu_unregister_thread();
}

static bool wait_for_inserts(struct cf_rhash_entry *entry, void *unused)
{
	struct actor other = { .act = insert_meanwhile };
	(void)entry, (void)unused;
	actor_start(&other);
	actor_end(&other);
	return false;
}

TEST("a table that is filled while it is walked has its size soon after")
{
	begin(16, 0);
	insert(0);
	cf_rhash_for_each(&table, wait_for_inserts, NULL);
	CHECK_EQUAL(cf_rhash_buckets(&table), 2048);
	end(MEANWHILE);
}

// Keys below STAY are always there; the rest come and go, so that the table grows and shrinks, and some are moved about.
enum { STAY = 40, MOVING = 8, CHURN = 1000 };

static struct {
	struct item *moving[MOVING];
	uint32_t stop;
	long operations;
} storm;

static void read_always(uint64_t *random)
{
	uint32_t key = random_below(random, STAY);
	CHECK(present(key));
	(void)present(STAY + random_below(random, CHURN));
}

static void churn(int id, uint64_t *random)
{
	uint32_t key = STAY + random_below(random, CHURN / 2) + (uint32_t)(id & 1) * CHURN / 2;
	if (random_below(random, 3))
		insert(key);
	else
		remove_key(key);
}

static void empty(void)
{
	for (uint32_t key = STAY; key < STAY + CHURN; key++)
		remove_key(key);
	cf_rhash_maintain(&table);
	cf_rcu_barrier(); // so that the next resize may follow
}

static void move_about(uint64_t *random)
{
	struct item *item = storm.moving[random_below(random, MOVING)];
	uint32_t key = STAY + 2 * CHURN + random_below(random, 1000);
	CHECK(cf_rhash_move(&table, &item->entry, hash_of(key), set_key, &key));
}

// For so many operations, and until the table has been resized a few times.
static void churn_and_empty(uint64_t *random)
{
	uint32_t buckets = cf_rhash_buckets(&table), resizes = 0;
	for (long i = 0; i < storm.operations || resizes < 4; i++) {
		if (i % 1024 == 0) // so that it shrinks
			empty();
		else
			churn(1, random);
		resizes += cf_rhash_buckets(&table) != buckets;
		buckets = cf_rhash_buckets(&table);
	}
}

static void storm_work(int id, void *shared)
{
	uint64_t random = (uint64_t)id * 977 + 1;
	(void)shared;
	if (id == 1)
		churn_and_empty(&random);
	for (long i = 0; id != 1 && i < storm.operations; i++)
		if (id == 0)
			move_about(&random);
		else if (id == 2)
			churn(id, &random);
		else
			read_always(&random);
}

TEST("a key that stays is always found, whatever is inserted, removed, moved and resized")
{
	begin(2, 0);
	storm.operations = scaled(30000);
	for (uint32_t key = 0; key < STAY; key++)
		insert(key);
	for (uint32_t i = 0; i < MOVING; i++)
		storm.moving[i] = insert(STAY + 2 * CHURN + 2000 + i);
	vfs_crew(5, storm_work, NULL);
	for (uint32_t i = 0; i < MOVING; i++) {
		CHECK(cf_rhash_remove(&table, &storm.moving[i]->entry));
		cf_rcu_call(&storm.moving[i]->rcu, free_item);
	}
	end(STAY + CHURN);
}

static void insert_all(int id, void *won)
{
	for (uint32_t key = 0; key < 2000; key++)
		if (insert(key))
			((long *)won)[id]++;
}

TEST("of those who insert one key at once one wins")
{
	long won[4] = { 0 };
	begin(2, 0);
	vfs_crew(4, insert_all, won);
	CHECK_EQUAL(won[0] + won[1] + won[2] + won[3], 2000);
	CHECK_EQUAL(cf_rhash_count(&table), 2000);
	end(2000);
}

static void replace_plain(uint32_t key)
{
	struct cf_rhash_entry *old;
	struct item *fresh = calloc(1, sizeof *fresh);
	fresh->key = key;
	fresh->value = key + 1;
	cf_rcu_read_lock();
	old = cf_rhash_find(&table, hash_of(key), same_plain, &key);
	CHECK(cf_rhash_replace(&table, old, &fresh->entry));
	cf_rcu_call(&item_of(old)->rcu, free_item);
	cf_rcu_read_unlock();
}

static void insert_or_read_plain(int id, void *shared)
{
	(void)shared;
	for (uint32_t key = 0; key < 500; key++) {
		struct cf_rhash_entry *entry;
		if (id == 0) {
			struct item *item = calloc(1, sizeof *item);
			item->key = key;
			item->value = key + 1;
			cf_rhash_insert(&table, &item->entry, hash_of(key));
			if (key >= 100)
				replace_plain(key - 100); // in the midst of a chain
			continue;
		}
		cf_rcu_read_lock();
		entry = cf_rhash_find(&table, hash_of(key), same_plain, &key);
		CHECK(!entry || item_of(entry)->value == key + 1);
		cf_rcu_read_unlock();
	}
}

TEST("what a reader finds is as it was inserted")
{
	for (int round = 0; round < 20; round++) {
		begin(64, CF_RHASH_NO_RESIZE);
		vfs_crew(3, insert_or_read_plain, NULL);
		end(500);
	}
}

// --- Steps held apart.

static void insert_plain(void)
{
	struct item *item = calloc(1, sizeof *item);
	item->key = 7;
	item->value = 8;
	cf_rcu_register_thread();
	cf_rhash_insert(&table, &item->entry, hash_of(7));
	cf_rcu_unregister_thread();
}

// Its bucket is still locked: the link alone orders what is in it.
TEST("what a reader finds at once is as it was inserted")
{
	struct actor inserter = { .act = insert_plain, .cpu = 1, .stop_at = "rhash: linked", .quietly = true };
	const uint32_t key = 7;
	struct cf_rhash_entry *entry;
	begin(64, CF_RHASH_NO_RESIZE);
	actor_start(&inserter);
	while (!__atomic_load_n(&inserter.is_held, __ATOMIC_RELAXED))
		sched_yield();
	cf_rcu_read_lock();
	entry = cf_rhash_find(&table, hash_of(key), same_plain, &key);
	CHECK(entry && item_of(entry)->value == 8);
	cf_rcu_read_unlock();
	__atomic_store_n(&inserter.may_go, 1, __ATOMIC_RELAXED);
	actor_end(&inserter);
	end(8);
}

static void grow(void)
{
	cf_rcu_register_thread();
	while (cf_rhash_maintain(&table))
		;
	cf_rcu_unregister_thread();
}

// Buckets are taken in their order: some have moved when the resize is held, and others not.
TEST("what is inserted and removed in the midst of a resize is there, and gone, after it")
{
	const char *const steps[] = { "rhash: moved", "rhash: all moved" };
	for (size_t i = 0; two_cpus() && i < 2; i++) {
		struct actor resizer = { .act = grow, .cpu = 1, .stop_at = steps[i] };
		begin(8, 0);
		for (uint32_t key = 0; key < 5; key++)
			insert(key);
		table.count.count += 100; // the table takes itself to be full
		actor_start(&resizer);
		CHECK(actor_wait_held(&resizer));
		for (uint32_t key = 0; key < 5; key++)
			CHECK(present(key));
		if (i == 1) { // every bucket is unlocked: changes go to both tables
			for (uint32_t key = 5; key < 200; key++)
				CHECK(insert(key) != NULL);
			for (uint32_t key = 0; key < 100; key++)
				CHECK(remove_key(key));
		}
		table.count.count -= 100;
		actor_end(&resizer);
		for (uint32_t key = 0; key < 200; key++)
			CHECK_EQUAL(present(key), i == 1 ? key >= 100 : key < 5);
		end(200);
	}
}

// Sums are counted by their test point.
enum { NOT_HELD = 1 << 30, SUMMED = 640 };
static uint32_t hash_step;

static void insert_and_remove(void)
{
	struct item item = { .key = 0 };
	cf_rcu_register_thread();
	for (uint32_t i = 0; i < SUMMED; i++) {
		cf_rhash_insert(&table, &item.entry, i * hash_step);
		CHECK(cf_rhash_remove(&table, &item.entry));
		cf_rcu_synchronize();
	}
	cf_rcu_unregister_thread();
}

static uint32_t sums_of_changes(uint32_t step)
{
	struct actor actor = { .act = insert_and_remove, .stop_at = "percpu: summing", .skip = NOT_HELD };
	hash_step = step;
	actor_start(&actor);
	actor_end(&actor);
	return (uint32_t)(NOT_HELD - actor.skip) / cf_slot_count();
}

TEST("where the count misleads one key in 64 asks for the sum, and none beside a resize")
{
	begin(16, 0);
	(void)cf_percpu_counter_add(&table.count, -20); // stays in its slot
	table.count.count += 20;
	for (uint32_t step = 1; step <= 1 << 16; step *= 4) {
		uint32_t sums = sums_of_changes(step);
		CHECK(sums >= SUMMED / 64 / 2 && sums <= SUMMED / 64 * 2);
	}
	table.resizing = 1;
	CHECK_EQUAL(sums_of_changes(1), 0);
	table.resizing = 0;
	table.most = 16;
	CHECK_EQUAL(sums_of_changes(1), 0);
	end(0);
}

static struct item *traveller;

static bool same_held(const struct cf_rhash_entry *entry, const void *key)
{
	if (item_of(entry) == traveller)
		cf_test_point("test: on the traveller");
	return same(entry, key);
}

static void read_past_traveller(void)
{
	uint32_t key = 0;
	cf_rcu_register_thread();
	cf_rcu_read_lock();
	CHECK(cf_rhash_find(&table, 0, same_held, &key) != NULL);
	cf_rcu_read_unlock();
	cf_rcu_unregister_thread();
}

// A reader stands on an entry of its chain when that moves to another: what is behind it in the first is still found.
TEST("a reader that is led into another chain comes back")
{
	struct actor reader = { .act = read_past_traveller, .cpu = 1, .stop_at = "test: on the traveller" };
	struct item sought = { .key = 0 }, moved = { .key = 1 };
	uint32_t key = 1;
	if (!two_cpus())
		return;
	begin(8, CF_RHASH_NO_RESIZE);
	cf_rhash_insert(&table, &sought.entry, 0);
	cf_rhash_insert(&table, &moved.entry, 0);
	traveller = &moved;
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	CHECK(cf_rhash_move(&table, &moved.entry, 1, set_key, &key));
	traveller = NULL;
	actor_end(&reader);
	CHECK(cf_rhash_remove(&table, &sought.entry) && cf_rhash_remove(&table, &moved.entry));
	end(0);
}

TEST("a table that is filled at once has its size soon, without another change")
{
	enum { KEYS = 4000 };
	uint32_t in_haste;
	begin(8, 0);
	cf_rcu_read_lock(); // the grace period of the first resize does not end
	for (uint32_t key = 0; key < KEYS; key++)
		insert(key);
	in_haste = cf_rhash_buckets(&table);
	cf_rcu_read_unlock();
	CHECK(in_haste < KEYS);
	for (int i = 0; i < 1000 && cf_rhash_buckets(&table) < KEYS; i++)
		usleep(10000);
	CHECK(cf_rhash_buckets(&table) >= KEYS && cf_rhash_buckets(&table) <= 4 * KEYS);
	for (uint32_t key = 0; key < KEYS; key++)
		CHECK(present(key));
	end(KEYS);
}

TEST("a table is there for as long as a reader is in it")
{
	struct actor reader = { .act = read_past_traveller, .cpu = 1, .stop_at = "test: on the traveller" };
	struct item sought = { .key = 0 }, before = { .key = 1 };
	if (!two_cpus())
		return;
	begin(8, 0);
	cf_rhash_insert(&table, &sought.entry, 0);
	cf_rhash_insert(&table, &before.entry, 0);
	traveller = &before;
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	table.count.count += 100; // the table takes itself to be full
	CHECK(cf_rhash_maintain(&table));
	table.count.count -= 100;
	usleep(30000); // a grace period would pass
	CHECK(!cf_rhash_maintain(&table)); // the last resize still waits for the reader
	CHECK(__atomic_load_n(&table.resizing, __ATOMIC_RELAXED));
	traveller = NULL;
	actor_end(&reader);
	CHECK(cf_rhash_remove(&table, &sought.entry) && cf_rhash_remove(&table, &before.entry));
	end(0);
}

VFS_MAIN
