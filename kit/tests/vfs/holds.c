// SPDX-License-Identifier: MIT OR Apache-2.0
// References of open files: src/vfs/holds.c. A name has one reference on its inode, and so has the test.
#include "threads.h"
#include <corefold/cf_icache.h>

enum { HOLDS = 5 };

static struct cf_icache cache;
static long evicted;
static struct cf_inode *inode;
static uint32_t holds[HOLDS];
static bool held;

static void on_evict(struct cf_inode *gone)
{
	(void)gone;
	__atomic_fetch_add(&evicted, 1, __ATOMIC_RELAXED);
}

static const struct cf_icache_ops ops = { .evict = on_evict };

static struct cf_inode *new_file(void)
{
	struct cf_inode *made = cf_inode_new(&cache);
	made->counted = 1;
	return made;
}

static void begin(void)
{
	evicted = 0;
	CHECK_EQUAL(cf_icache_init(&cache, &ops, NULL, 16), 0);
	inode = new_file();
	cf_inode_get(inode);
}

static void end(long inodes)
{
	CHECK_EQUAL(__atomic_load_n(&evicted, __ATOMIC_RELAXED), inodes);
	CHECK_EQUAL(cf_icache_destroy(&cache), 0);
}

static bool hold(struct cf_inode *of, uint32_t *to)
{
	bool got;
	cf_rcu_read_lock();
	got = cf_inode_hold(of, to);
	cf_rcu_read_unlock();
	return got;
}

// The last name goes, as unlink does it.
static void lose_name(struct cf_inode *of)
{
	CF_INODE_STORE(of, nlink, 0);
	cf_inode_gather(of);
	cf_inode_put(of);
}

// The same, and the test's reference goes, too.
static void lose_all(void)
{
	lose_name(inode);
	cf_inode_put(inode);
}

static void lose_all_there(void)
{
	cf_rcu_register_thread();
	lose_all();
	cf_rcu_unregister_thread();
}

static void take_hold(void)
{
	cf_rcu_register_thread();
	held = hold(inode, &holds[0]);
	cf_rcu_unregister_thread();
}

TEST("holds store nothing in the inode, and are references when the last name goes")
{
	begin();
	for (int i = 0; i < HOLDS; i++) {
		pin(i % 2);
		CHECK(hold(inode, &holds[i]) && holds[i]);
	}
	unpin();
	CHECK_EQUAL(inode->count, 2);
	cf_inode_unhold(inode, holds[0]);
	lose_all();
	CHECK_EQUAL(inode->count, HOLDS - 1);
	for (int i = 1; i < HOLDS; i++) {
		CHECK_EQUAL(evicted, 0);
		cf_inode_unhold(inode, holds[i]);
	}
	end(1);
}

TEST("without a name a hold is a reference, and none on what is dead")
{
	begin();
	cf_inode_gather(inode);
	CHECK(hold(inode, &holds[0]) && !holds[0]);
	CHECK_EQUAL(inode->count, 3);
	cf_inode_unhold(inode, holds[0]);
	CF_INODE_STORE(inode, nlink, 0);
	cf_inode_put(inode);
	cf_rcu_read_lock(); // its memory is there as long as we are here
	cf_inode_put(inode);
	CHECK(!cf_inode_hold(inode, &holds[0]));
	cf_rcu_read_unlock();
	end(1);
}

TEST("inodes that share a slot do not share counts")
{
	enum { FILES = 600 }; // more than a CPU's slots
	static struct cf_inode *files[FILES], *late[FILES];
	static uint32_t of[FILES], late_of[FILES];
	begin();
	pin(0);
	for (int i = 0; i < FILES; i++) {
		files[i] = new_file();
		CHECK(hold(files[i], &of[i]));
		CHECK_EQUAL(files[i]->count, of[i] ? 1 : 2);
	}
	for (int i = 0; i < FILES; i++)
		lose_name(files[i]);
	CHECK_EQUAL(evicted, 0);
	for (int i = 0; i < FILES; i++) { // in the slots that are free again
		late[i] = new_file();
		CHECK(hold(late[i], &late_of[i]));
	}
	unpin();
	for (int i = 0; i < FILES; i++)
		cf_inode_unhold(files[i], of[i]);
	CHECK_EQUAL(evicted, FILES);
	for (int i = 0; i < FILES; i++)
		lose_name(late[i]);
	CHECK_EQUAL(evicted, FILES);
	for (int i = 0; i < FILES; i++)
		cf_inode_unhold(late[i], late_of[i]);
	lose_all();
	end(2 * FILES + 1);
}

// Held after the mark: gather has looked at the slot by then. Held after it was counted: gather has taken it.
TEST("who takes a hold while the last name goes has a reference, or nothing")
{
	static const char *const points[] = { "hold: marked", "hold: counted" };
	for (int i = 0; two_cpus() && i < 2; i++) {
		struct actor opener = { .act = take_hold, .cpu = 1, .stop_at = points[i] };
		begin();
		actor_start(&opener);
		CHECK(actor_wait_held(&opener));
		lose_all();
		CHECK_EQUAL(evicted, !i);
		actor_end(&opener);
		CHECK_EQUAL(held, i);
		CHECK_EQUAL(evicted, !i);
		if (held)
			cf_inode_unhold(inode, holds[0]);
		end(1);
	}
}

TEST("what is given back while it is gathered is given back once")
{
	struct actor gatherer = { .act = lose_all_there, .cpu = 1, .stop_at = "hold: gathering" };
	for (int left = 0; two_cpus() && left < HOLDS; left++) {
		begin();
		pin(0);
		for (int i = 0; i < HOLDS; i++)
			CHECK(hold(inode, &holds[i]));
		unpin();
		gatherer.stop_at = "hold: gathering";
		actor_start(&gatherer);
		CHECK(actor_wait_held(&gatherer));
		for (int i = left; i < HOLDS; i++)
			cf_inode_unhold(inode, holds[i]);
		CHECK_EQUAL(evicted, 0);
		actor_end(&gatherer);
		CHECK_EQUAL(evicted, !left);
		for (int i = 0; i < left; i++)
			cf_inode_unhold(inode, holds[i]);
		end(1);
	}
}

// --- Many at once: an inode after the other is held, and loses its name. Each is evicted once, and never while it is held.

enum { ROUNDS = 300, THREADS = 4 };
static struct cf_inode *current;
static uint64_t dead[ROUNDS + 1]; // by number

static void on_storm_evict(struct cf_inode *gone)
{
	__atomic_fetch_add(&dead[gone->device], 1, __ATOMIC_RELAXED);
}

static const struct cf_icache_ops storm_ops = { .evict = on_storm_evict };

static void open_and_close(void)
{
	struct cf_inode *at;
	uint32_t of;
	bool got;
	cf_rcu_read_lock();
	at = cf_rcu_dereference(current);
	got = cf_inode_hold(at, &of);
	cf_rcu_read_unlock();
	if (!got)
		return;
	sched_yield();
	CHECK_EQUAL(__atomic_load_n(&dead[at->device], __ATOMIC_RELAXED), 0);
	cf_inode_unhold(at, of);
}

static void storm(int id, void *shared)
{
	(void)shared;
	if (id) {
		while (__atomic_load_n(&current, __ATOMIC_ACQUIRE)->device < ROUNDS)
			open_and_close();
		return;
	}
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct cf_inode *old = current, *next = new_file();
		next->device = i;
		usleep(50);
		cf_rcu_assign(current, next);
		lose_name(old);
	}
}

TEST("storm: an inode goes with its last hold")
{
	memset(dead, 0, sizeof dead);
	CHECK_EQUAL(cf_icache_init(&cache, &storm_ops, NULL, 16), 0);
	current = new_file();
	vfs_crew(THREADS, storm, NULL);
	lose_name(current);
	for (int i = 0; i <= ROUNDS; i++)
		CHECK_EQUAL(dead[i], 1);
	CHECK_EQUAL(cf_icache_destroy(&cache), 0);
}

VFS_MAIN
