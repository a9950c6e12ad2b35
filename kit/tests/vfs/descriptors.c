// SPDX-License-Identifier: MIT OR Apache-2.0
// Descriptors: their numbers, and what an open file is to those who use it while others close it.
#include "calls.h"

TEST("descriptors run out, and none is lost")
{
	int fds[2];
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, 5), 0);
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), i);
	CHECK_EQUAL(cf_vfs_open(task, "/new", O_CREAT | O_WRONLY, 0644), -EMFILE);
	CHECK_EQUAL(cf_vfs_unlink(task, "/new"), -ENOENT); // it was not made
	CHECK_EQUAL(cf_vfs_dup(task, 0, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_socketpair(task, fds, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_close(task, 4), 0);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(fds[0], 2);
	CHECK_EQUAL(fds[1], 4);
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_dup(task, 1, CF_O_ANYFD), 0);
	CHECK_EQUAL(cf_vfs_dup(task, 1, CF_O_ANYFD), -EMFILE);
	end();
}

TEST("any descriptor is one that is free")
{
	enum { MANY = 300 };
	static bool seen[CF_TASK_FDS];
	begin(0, 0);
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < MANY; i++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY | (i % 3 ? CF_O_ANYFD : 0), 0);
		CHECK(fd >= 0 && !seen[fd]);
		seen[fd] = true;
	}
	int lowest = 0;
	while (seen[lowest])
		lowest++;
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), lowest);
	end();
}

// --- Descriptors of one task, opened and closed by all: each number is one thread's at a time.

enum { OPENERS = 4 };

struct owned {
	uint32_t owner[256];
	bool any;
	long rounds;
};

static void open_and_close(int id, void *argument)
{
	struct owned *x = argument;
	for (long i = 0; i < x->rounds; i++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY | (x->any ? CF_O_ANYFD : 0), 0);
		uint32_t none = 0;
		CHECK(fd >= 0 && fd < 256);
		CHECK(__atomic_compare_exchange_n(&x->owner[fd], &none, (uint32_t)id + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
		if (!x->any)
			CHECK(fd < OPENERS); // the lowest: no more are open at once
		__atomic_store_n(&x->owner[fd], 0, __ATOMIC_RELEASE);
		CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	}
}

TEST("a descriptor is one open's at a time, and the lowest if asked for")
{
	for (int any = 0; any < 2; any++) {
		struct owned x = { .any = any, .rounds = scaled(5000) };
		begin(0, 0);
		CHECK_EQUAL(cf_task_limit(task, 256), 0);
		vfs_crew(OPENERS, open_and_close, &x);
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 0);
		end();
	}
}

// --- Descriptors that all open, use, duplicate and close, whoever opened them.

enum { SHARED = 4 };

static void use_all_descriptors(int id, void *rounds)
{
	static const int full[] = { EMFILE, 0 }, closed[] = { EBADF, 0 }, busy[] = { EBADF, EBUSY, 0 };
	uint64_t random = (uint64_t)id * 77 + 5;
	for (long i = 0; i < *(long *)rounds; i++) {
		int fd = (int)random_below(&random, SHARED);
		struct cf_stat s;
		char byte;
		switch (random_below(&random, 6)) {
		case 0: expect(cf_vfs_open(task, "/f", O_RDWR | O_CREAT, 0600), full); break;
		case 1: expect(cf_vfs_open(task, "/f", O_RDWR | O_CREAT | CF_O_ANYFD, 0600), full); break;
		case 2: expect(cf_vfs_fstat(task, fd, &s), closed); break;
		case 3: expect(cf_vfs_read(task, fd, &byte, 1), closed); break;
		case 4: expect(cf_vfs_dup2(task, fd, (int)random_below(&random, SHARED)), busy); break;
		default: expect(cf_vfs_close(task, fd), closed); break;
		}
	}
}

TEST("descriptors that all open, use, duplicate and close")
{
	long rounds = scaled(20000);
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, SHARED), 0);
	vfs_crew(OPENERS, use_all_descriptors, &rounds);
	for (int fd = 0; fd < SHARED; fd++)
		cf_vfs_close(task, fd);
	end();
}

// --- Steps of an open and a close held apart (hold.h).

static int opened, looked_at;
static struct cf_stat seen;

static void open_there(void)
{
	cf_rcu_register_thread();
	opened = cf_vfs_open(task, "/", O_RDONLY, 0);
	cf_rcu_unregister_thread();
}

static void close_2_there(void)
{
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	cf_rcu_unregister_thread();
}

static void look_at_2_there(void)
{
	cf_rcu_register_thread();
	looked_at = cf_vfs_fstat(task, 2, &seen);
	cf_rcu_unregister_thread();
}

static void open_some(int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), i);
}

TEST("who has seen a close gets its descriptor, if that is the lowest")
{
	struct actor closer = { .act = close_2_there, .stop_at = "fd: closing" }, other = { .act = look_at_2_there };
	begin(0, 0);
	open_some(4);
	actor_start(&closer);
	CHECK(actor_wait_held(&closer));
	actor_start(&other);
	usleep(20000);
	CHECK(!__atomic_load_n(&other.done, __ATOMIC_ACQUIRE)); // it has not seen it yet
	actor_end(&closer);
	actor_end(&other);
	CHECK_EQUAL(looked_at, -EBADF);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 2);
	end();
}

TEST("of two opens that find a descriptor free, one gets it")
{
	struct actor opener = { .act = open_there, .stop_at = "fd: free" };
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, 1), 0);
	actor_start(&opener);
	CHECK(actor_wait_held(&opener));
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY | CF_O_ANYFD, 0), 0);
	actor_end(&opener);
	CHECK_EQUAL(opened, -EMFILE);
	end();
}

TEST("a close beside a search for the lowest descriptor is not missed")
{
	struct actor opener = { .act = open_there, .stop_at = "fd: scanned" };
	begin(0, 0);
	open_some(2);
	CHECK_EQUAL(cf_vfs_dup2(task, 0, 2), 2); // the search begins at 2, which is taken
	actor_start(&opener);
	CHECK(actor_wait_held(&opener));
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	actor_end(&opener);
	CHECK_EQUAL(opened, 2);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 3);
	end();
}

TEST("a close beside a search that finds no descriptor is not missed")
{
	struct actor opener = { .act = open_there, .stop_at = "fd: scanned" };
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, 3), 0);
	open_some(3);
	actor_start(&opener);
	CHECK(actor_wait_held(&opener));
	CHECK_EQUAL(cf_vfs_close(task, 1), 0);
	actor_end(&opener);
	CHECK_EQUAL(opened, 1);
	end();
}

static void open_new_there(void)
{
	cf_rcu_register_thread();
	opened = cf_vfs_open(task, "/new", O_RDONLY, 0);
	cf_rcu_unregister_thread();
}

// An open has found the file by its name, which is another one before it looks again.
TEST("an open beside a rename of its name keeps nothing")
{
	struct actor opener = { .act = open_new_there, .stop_at = "walk: copied" };
	begin(0, 10);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/new", O_CREAT | O_RDWR, 0644)), 0);
	actor_start(&opener);
	CHECK_EQUAL(actor_wait_held(&opener), CF_VFS_RCU_WALK);
	CHECK_EQUAL(cf_vfs_rename(task, "/new", "/other"), 0);
	actor_end(&opener);
	CHECK_EQUAL(cf_vfs_unlink(task, "/other"), 0);
	cf_vfs_close(task, opened);
	CHECK_EQUAL(free_inodes(), 9);
	end();
}

static void sync_2_there(void)
{
	cf_rcu_register_thread();
	looked_at = cf_vfs_fsync(task, 2);
	cf_rcu_unregister_thread();
}

TEST("a descriptor that dup2 gives another file was open all the time")
{
	struct actor syncer = { .act = sync_2_there, .stop_at = "fd: found" };
	int fds[2];
	begin(0, 0);
	open_some(2);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(fds[0], 2);
	actor_start(&syncer);
	CHECK(actor_wait_held(&syncer));
	CHECK_EQUAL(cf_vfs_dup2(task, 0, 2), 2);
	actor_end(&syncer);
	CHECK_EQUAL(looked_at, 0); // -EINVAL is the pipe's, which nobody has any more
	end();
}

static int64_t was_read;

static void read_0_there(void)
{
	char bytes[100];
	cf_rcu_register_thread();
	was_read = cf_vfs_read(task, 0, bytes, sizeof bytes);
	cf_rcu_unregister_thread();
}

TEST("an open file that is closed under a read is not the next one's until the read has ended")
{
	struct actor reader = { .act = read_0_there, .stop_at = "mapping: read, found" };
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0600), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/b", O_CREAT | O_RDWR, 0600), 1);
	CHECK_EQUAL(cf_vfs_pwrite(task, 0, (char[100]){ 0 }, 100, 0), 100);
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/b", O_RDWR, 0), 0);
	actor_end(&reader);
	CHECK_EQUAL(was_read, 100);
	CHECK_EQUAL(cf_vfs_lseek(task, 0, 0, SEEK_CUR), 0); // it has a position of its own
	end();
}

static int sections;

static void read_0_and_look_there(void)
{
	char bytes[100];
	cf_rcu_register_thread();
	was_read = cf_vfs_read(task, 0, bytes, sizeof bytes);
	sections = cf_rcu_read_ongoing();
	cf_rcu_unregister_thread();
}

// A pipe may block, so its reader takes a reference; it gets one on what is there by then, which cannot block.
TEST("a read whose pipe dup2 replaces by a file ends as it has begun")
{
	struct actor reader = { .act = read_0_and_look_there, .stop_at = "fd: found" };
	int fds[2];
	begin(0, 10);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0600), 2);
	CHECK_EQUAL(cf_vfs_pwrite(task, 2, (char[100]){ 0 }, 100, 0), 100);
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	CHECK_EQUAL(cf_vfs_dup2(task, 2, 0), 0);
	actor_end(&reader);
	CHECK_EQUAL(was_read, 100);
	CHECK_EQUAL(sections, 0);
	for (int fd = 0; fd < 3; fd++)
		CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	CHECK_EQUAL(free_inodes(), 9);
	end();
}

VFS_MAIN
