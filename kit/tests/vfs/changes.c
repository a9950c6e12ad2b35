// SPDX-License-Identifier: MIT OR Apache-2.0
// Times that are stored in parts or without a lock, and what a rename knows of two names of one file.
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task;
static int64_t now;
static int result;

static struct cf_time clock_of(void *argument)
{
	(void)argument;
	return (struct cf_time){ __atomic_load_n(&now, __ATOMIC_RELAXED), 0 };
}

static void at(int64_t time)
{
	__atomic_store_n(&now, time, __ATOMIC_RELAXED);
}

// At 1: "/a", of one name.
static void begin(void)
{
	struct cf_vfs_options options = { .mode = 0777, .clock = clock_of };
	at(1);
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0644)), 0);
}

static void end(void)
{
	cf_task_free(task);
	cf_vfs_free(vfs);
}

static struct cf_stat stat_of(const char *path)
{
	struct cf_stat s = { .ino = 0 };
	CHECK_EQUAL(cf_vfs_stat(task, path, &s), 0);
	return s;
}

// Access times change when something was read: one byte, so that there is one.
static void write_byte(void)
{
	int fd = cf_vfs_open(task, "/a", O_WRONLY, 0);
	CHECK_EQUAL(cf_vfs_write(task, fd, "x", 1), 1);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
}

static void read_byte(void)
{
	char byte;
	int fd = cf_vfs_open(task, "/a", O_RDONLY, 0);
	CHECK_EQUAL(cf_vfs_read(task, fd, &byte, 1), 1);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
}

static void set_atime(int64_t time)
{
	const struct cf_time times[2] = { { time, 0 }, { 0, UTIME_OMIT } };
	CHECK_EQUAL(cf_vfs_utimensat(task, CF_AT_FDCWD, "/a", times, 0), 0);
}

#define THERE(call)                                                                                                    \
	{                                                                                                              \
		cf_rcu_register_thread();                                                                              \
		call;                                                                                                  \
		cf_rcu_unregister_thread();                                                                            \
	}
static void rename_b(void) THERE(result = cf_vfs_rename(task, "/b", "/b2"))
static void rename_c(void) THERE(result = cf_vfs_rename(task, "/c", "/c2"))
static void link_b(void) THERE(result = cf_vfs_link(task, "/a", "/b"))
static void read_there(void) THERE(read_byte())
static void rename_a_b(void) THERE(result = cf_vfs_rename(task, "/a", "/b"))
static uint64_t seen;
static void stat_a(void) THERE(seen = stat_of("/a").ino)
static void truncate_b(void) THERE(result = cf_vfs_truncate(task, "/b", 0))

static void hold(struct actor *a)
{
	actor_start(a);
	CHECK(actor_wait_held(a));
}

static void elsewhere(void (*act)(void), int cpu)
{
	struct actor a = { .act = act, .cpu = cpu };
	actor_start(&a);
	actor_end(&a);
	CHECK_EQUAL(result, 0);
}

TEST("a file of several names: its change time is that of the last change of a name, on whichever CPU")
{
	begin();
	CHECK_EQUAL(cf_vfs_link(task, "/a", "/b"), 0);
	CHECK_EQUAL(cf_vfs_link(task, "/a", "/c"), 0);
	write_byte();
	at(2);
	read_byte();
	at(3);
	elsewhere(rename_b, 0);
	CHECK_EQUAL(stat_of("/a").ctime.sec, 3);
	at(4);
	elsewhere(rename_c, two_cpus());
	CHECK_EQUAL(stat_of("/a").ctime.sec, 4);
	CHECK_EQUAL(stat_of("/a").atime.sec, 2);
	at(5);
	read_byte(); // the file has changed since it was read
	CHECK_EQUAL(stat_of("/a").atime.sec, 5);
	at(6);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/a", 0600), 0);
	CHECK_EQUAL(stat_of("/a").ctime.sec, 6);
	end();
}

TEST("of two links that part the times of changes at once one does")
{
	struct actor linker = { .act = link_b, .stop_at = "changes: made" };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	hold(&linker);
	CHECK_EQUAL(cf_vfs_link(task, "/a", "/c"), 0);
	at(9);
	CHECK_EQUAL(cf_vfs_rename(task, "/c", "/d"), 0);
	at(7); // of the link that has waited
	actor_end(&linker);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(stat_of("/a").ctime.sec, 9);
	CHECK_EQUAL(stat_of("/a").nlink, 3);
	end();
}

TEST("of two changes at once the later time stays")
{
	struct actor renamer = { .act = rename_b, .stop_at = "inode: changed" };
	for (int several = 0; CF_VFS_RCU_WALK && several < 2; several++) {
		begin();
		CHECK_EQUAL(several ? cf_vfs_link(task, "/a", "/b") : cf_vfs_rename(task, "/a", "/b"), 0);
		at(2);
		renamer.stop_at = "inode: changed";
		hold(&renamer);
		at(3);
		CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/b", 0600), 0);
		actor_end(&renamer);
		CHECK_EQUAL(result, 0);
		CHECK_EQUAL(stat_of("/b2").ctime.sec, 3);
		end();
	}
}

static struct cf_icache cache;
static struct cf_inode *inode;

static void part_changes(void)
{
	cf_inode_part_changes(inode);
}

TEST("parts go with their inode, and those that came second at once")
{
	struct actor second = { .act = part_changes, .stop_at = "changes: made" };
	struct cf_slab_stats stats;
	if (!CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(cf_icache_init(&cache, NULL, NULL, 16), 0);
	inode = cf_inode_new(&cache);
	hold(&second);
	cf_inode_part_changes(inode);
	actor_end(&second);
	cf_slab_stats(&cache.changes, &stats);
	CHECK_EQUAL(stats.allocations, 2);
	CHECK_EQUAL(stats.allocated, 1);
	cf_inode_put(inode);
	cf_rcu_barrier();
	cf_slab_stats(&cache.changes, &stats);
	CHECK_EQUAL(stats.allocated, 0);
	CHECK_EQUAL(cf_icache_destroy(&cache), 0);
}

TEST("who looks at a file sees the parts as its first link has made them")
{
	struct actor linker = { .act = link_b, .stop_at = "changes: parted", .quietly = true };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	actor_start(&linker);
	while (!__atomic_load_n(&linker.is_held, __ATOMIC_RELAXED))
		sched_yield();
	CHECK_EQUAL(stat_of("/a").nlink, 1);
	__atomic_store_n(&linker.may_go, 1, __ATOMIC_RELAXED);
	actor_end(&linker);
	end();
}

TEST("a new file's first read is marked, later ones only after a change")
{
	begin();
	write_byte();
	at(2);
	read_byte();
	CHECK_EQUAL(stat_of("/a").atime.sec, 2);
	at(3);
	read_byte();
	CHECK_EQUAL(stat_of("/a").atime.sec, 2);
	write_byte();
	at(4);
	read_byte();
	CHECK_EQUAL(stat_of("/a").atime.sec, 4);
	end();
	begin();
	write_byte();
	set_atime(1000);
	at(2);
	read_byte();
	CHECK_EQUAL(stat_of("/a").atime.sec, 1000);
	end();
}

TEST("a read does not undo an access time that was set meanwhile")
{
	struct actor reader = { .act = read_there, .stop_at = "inode: read" };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	write_byte();
	at(2);
	hold(&reader);
	set_atime(1000);
	actor_end(&reader);
	CHECK_EQUAL(stat_of("/a").atime.sec, 1000);
	end();
}

TEST("a walk that has found a file begins again when another file gets its name")
{
	const char *const steps[] = { "walk: found", "walk: copied" };
	for (int i = 0; CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor walker = { .act = stat_a, .stop_at = steps[i] };
		begin();
		CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/z", O_CREAT | O_RDWR, 0644)), 0);
		hold(&walker);
		CHECK_EQUAL(cf_vfs_rename(task, "/z", "/a"), 0);
		actor_end(&walker);
		CHECK_EQUAL(seen, stat_of("/a").ino);
		end();
	}
}

TEST("a rename between names that were never one file's at one moment is done")
{
	struct actor renamer = { .act = rename_a_b, .stop_at = "rename: one file" };
	struct cf_stat s;
	uint64_t number;
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	CHECK_EQUAL(cf_vfs_link(task, "/a", "/w"), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, i ? "/z" : "/b", O_CREAT | O_RDWR, 0644)), 0);
	number = stat_of("/z").ino;
	hold(&renamer);
	CHECK_EQUAL(cf_vfs_rename(task, "/z", "/a"), 0);
	CHECK_EQUAL(cf_vfs_rename(task, "/w", "/b"), 0);
	actor_end(&renamer);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/a", &s), -ENOENT);
	CHECK_EQUAL(stat_of("/b").ino, number);
	end();
}

// The dentry of "/b" becomes "/e"'s, which then gets the first file: "/b" is no name of any.
TEST("a rename onto a name that has moved away meanwhile is done")
{
	struct actor renamer = { .act = rename_a_b, .stop_at = "rename: one file" };
	struct actor keeper = { .act = truncate_b, .stop_at = "walk: grabbed" }; // a reference: the dentry moves, not its file
	struct cf_stat s;
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	CHECK_EQUAL(cf_vfs_link(task, "/a", "/w"), 0);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/b", O_CREAT | O_RDWR, 0644)), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/e", &s), -ENOENT);
	hold(&renamer);
	hold(&keeper);
	CHECK_EQUAL(cf_vfs_rename(task, "/b", "/e"), 0);
	actor_end(&keeper);
	CHECK_EQUAL(cf_vfs_rename(task, "/w", "/e"), 0);
	actor_end(&renamer);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/a", &s), -ENOENT);
	CHECK_EQUAL(stat_of("/b").ino, stat_of("/e").ino);
	end();
}

VFS_MAIN
