// SPDX-License-Identifier: MIT OR Apache-2.0
// Names with locks of their own (src/vfs/place.c): who has found one is held before or under its lock, and others change it.
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>
#include "../../src/vfs/place.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task;
static int result, removed;

static uint64_t number_of(const char *path)
{
	struct cf_stat s;
	int error = cf_vfs_stat(task, path, &s);
	return error ? (uint64_t)error : s.ino;
}

// The name cache knows the names, so that they are found by their dentries.
static void begin(void)
{
	static const char *const known[] = { "/a", "/b", "/c", "/n" };
	struct cf_vfs_options options = { .inodes = 100, .mode = 0777 };
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(number_of(known[i]), (uint64_t)-ENOENT);
}

static void create(const char *path)
{
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, path, O_CREAT | O_RDWR, 0644)), 0);
}

// Of the root directory, besides "." and "..".
static int entries(void)
{
	struct cf_dirent found[100];
	int fd = cf_vfs_open(task, "/", O_RDONLY, 0), count = cf_vfs_readdir(task, fd, found, 100);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	return count - 2;
}

static void end(int names)
{
	struct cf_stat s;
	CHECK_EQUAL(entries(), names);
	CHECK_EQUAL(cf_vfs_stat(task, "/", &s), 0);
	CHECK_EQUAL(s.size, names);
	cf_task_free(task);
	cf_vfs_free(vfs);
}

#define THERE(call)                                                                                                    \
	{                                                                                                              \
		cf_rcu_register_thread();                                                                              \
		result = call;                                                                                         \
		cf_rcu_unregister_thread();                                                                            \
	}
static void make_n(void) THERE(cf_vfs_mkdir(task, "/n", 0755))
static void open_n(void) THERE(cf_vfs_open(task, "/n", O_CREAT | O_EXCL, 0644))
static void remove_a(void) THERE(cf_vfs_unlink(task, "/a"))
static void rename_a_c(void) THERE(cf_vfs_rename(task, "/a", "/c"))
static void remove_d_a(void) THERE(cf_vfs_unlink(task, "/d/a"))
static void rename_d_a_c(void) THERE(cf_vfs_rename(task, "/d/a", "/c"))
static void rename_a_b(void) THERE(cf_vfs_rename(task, "/a", "/b"))
static void make_in_d(void) THERE(cf_vfs_mkdir(task, "/d/x", 0755))

static uint64_t seen;

static void see(const char *path)
{
	cf_rcu_register_thread();
	seen = number_of(path);
	cf_rcu_unregister_thread();
}

static void stat_a_there(void)
{
	see("/a");
}

static void stat_b_there(void)
{
	see("/b");
}

static void remove_d(void)
{
	cf_rcu_register_thread();
	removed = cf_vfs_rmdir(task, "/d");
	cf_rcu_unregister_thread();
}

static void read_root(void)
{
	cf_rcu_register_thread();
	entries();
	cf_rcu_unregister_thread();
}

static void hold(struct actor *a)
{
	actor_start(a);
	CHECK(actor_wait_held(a));
}

TEST("who has found that a name is free does not make it twice")
{
	void (*const makers[])(void) = { make_n, open_n };
	for (int i = 0; CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor maker = { .act = makers[i], .stop_at = "place: found" };
		begin();
		create("/a");
		hold(&maker);
		CHECK_EQUAL(cf_vfs_rename(task, "/a", "/n"), 0);
		actor_end(&maker);
		CHECK_EQUAL(result, -EEXIST);
		end(1);
	}
}

TEST("a name that has moved away is neither removed nor renamed")
{
	void (*const calls[])(void) = { remove_a, rename_a_c };
	for (int i = 0; CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor other = { .act = calls[i], .stop_at = "place: found" };
		begin();
		create("/a");
		hold(&other);
		CHECK_EQUAL(cf_vfs_rename(task, "/a", "/b"), 0);
		create("/a");
		actor_end(&other);
		CHECK_EQUAL(result, 0);
		CHECK_EQUAL(number_of("/a"), (uint64_t)-ENOENT);
		CHECK((int64_t)number_of("/b") > 0);
		end(1 + i);
	}
}

// The dentry of "/d/a" has become "/a"'s: the directory is another, and the name the same.
TEST("a name that has moved to another directory is not changed there")
{
	void (*const calls[])(void) = { remove_d_a, rename_d_a_c };
	for (int i = 0; CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor other = { .act = calls[i], .stop_at = "place: found" };
		begin();
		CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
		create("/d/a");
		hold(&other);
		CHECK_EQUAL(cf_vfs_rename(task, "/d/a", "/a"), 0);
		actor_end(&other);
		CHECK_EQUAL(result, -ENOENT);
		CHECK((int64_t)number_of("/a") > 0);
		end(2);
	}
}

TEST("a directory is not removed while a name is made in it, and has none later")
{
	struct actor maker = { .act = make_in_d, .stop_at = "place: locked" }, remover = { .act = remove_d };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	(void)number_of("/d/x");
	hold(&maker);
	actor_start(&remover);
	CHECK(!actor_finishes(&remover));
	actor_end(&maker);
	actor_end(&remover);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(removed, -ENOTEMPTY);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d/x"), 0);
	maker.stop_at = "place: found";
	hold(&maker);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	actor_end(&maker);
	CHECK_EQUAL(result, -ENOENT);
	end(0);
}

TEST("who finds that a directory has been removed puts it once")
{
	struct actor maker = { .act = make_in_d, .stop_at = "place: walked" };
	struct cf_stat s;
	int fd;
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	fd = cf_vfs_open(task, "/d", O_RDONLY, 0); // has a reference, too
	hold(&maker);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	actor_end(&maker);
	CHECK_EQUAL(result, -ENOENT);
	cf_rcu_barrier();
	CHECK_EQUAL(cf_vfs_fstatat(task, fd, "..", &s, 0), 0);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	end(0);
}

static void make_d_n(void)
{
	struct cf_place place;
	enum cf_walk_last type;
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_place_begin(task, CF_AT_FDCWD, "/d/n", &place, &type), 0);
	__atomic_fetch_or(&place.lock->owner, 1, __ATOMIC_RELAXED); // as if there were sleepers: unlock looks for them
	cf_place_end(&place);
	cf_rcu_unregister_thread();
}

static void wait_for_callbacks(void)
{
	cf_rcu_register_thread();
	cf_rcu_barrier();
	cf_rcu_unregister_thread();
}

TEST("a name's lock stays until it is unlocked, though the directory goes meanwhile")
{
	struct actor unlocker = { .act = make_d_n, .stop_at = "mutex: released" }, freer = { .act = wait_for_callbacks };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	create("/d/n");
	hold(&unlocker);
	CHECK_EQUAL(cf_vfs_rename(task, "/d/n", "/n"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	actor_start(&freer);
	CHECK(!actor_finishes(&freer));
	actor_end(&unlocker);
	actor_end(&freer);
	end(1);
}

TEST("a directory is read at one moment, and known names are found beside a change")
{
	struct actor mover = { .act = rename_a_b, .stop_at = "place: locked" };
	struct actor finder = { .act = stat_b_there }, reader = { .act = read_root };
	if (!CF_VFS_RCU_WALK)
		return;
	begin();
	create("/a");
	hold(&mover);
	actor_start(&finder);
	CHECK(actor_finishes(&finder));
	actor_end(&finder);
	CHECK_EQUAL(seen, (uint64_t)-ENOENT);
	actor_start(&reader);
	CHECK(!actor_finishes(&reader));
	actor_end(&mover);
	actor_end(&reader);
	end(1);
}

// Both names change as one: who looks in between waits.
TEST("a file that is renamed has never two names, and never none")
{
	void (*const looks[])(void) = { stat_a_there, stat_b_there };
	for (int i = 0; CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor mover = { .act = rename_a_b, .stop_at = "move: inode" }, other = { .act = looks[i] };
		uint64_t number;
		begin();
		create("/a");
		create("/b");
		number = number_of("/a");
		hold(&mover);
		actor_start(&other);
		CHECK(!actor_finishes(&other));
		actor_end(&mover);
		actor_end(&other);
		CHECK_EQUAL(number_of("/a"), (uint64_t)-ENOENT);
		CHECK_EQUAL(number_of("/b"), number);
		end(1);
	}
}

// --- Many threads and few names; nothing is there twice, and nothing is left.

enum { THREADS = 4, STEPS = 3000, FILES = 6 };

static void storm(int id, void *shared)
{
	unsigned random = (unsigned)id * 7919 + 1;
	char a[16], b[16];
	(void)shared;
	for (int i = 0; i < STEPS; i++) {
		random = random * 1103515245 + 12345;
		snprintf(a, sizeof a, "/%c/%u", 'd' + (int)(random >> 16 & 1), random >> 17 & 3);
		snprintf(b, sizeof b, "/%c/%u", 'd' + (int)(random >> 19 & 1), random >> 20 & 3);
		if (!(random >> 26 & 3)) // attributes change beside names, under a lock of their own
			(void)cf_vfs_fchmodat(task, CF_AT_FDCWD, random >> 25 & 1 ? "/d" : a, 0755);
		switch (random >> 22 & 7) {
		case 0: cf_vfs_close(task, cf_vfs_open(task, a, O_CREAT | O_RDWR | CF_O_ANYFD, 0644)); break;
		case 1: cf_vfs_unlink(task, a); break;
		case 2: cf_vfs_link(task, a, b); break;
		case 3: cf_vfs_mkdir(task, random >> 25 & 1 ? "/d" : "/e", 0755); break;
		case 4: cf_vfs_rmdir(task, random >> 25 & 1 ? "/d" : "/e"); break;
		case 5: cf_vfs_mkdir(task, a, 0755); break;
		case 6: cf_vfs_rmdir(task, a); break;
		default: cf_vfs_rename(task, a, b); break;
		}
	}
}

static void remove_below(const char *directory)
{
	char path[16];
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "%s/%d", directory, i);
		if (cf_vfs_unlink(task, path) == -EISDIR)
			CHECK_EQUAL(cf_vfs_rmdir(task, path), 0);
	}
	(void)cf_vfs_rmdir(task, directory);
}

TEST("storm: names of two directories that come and go")
{
	struct cf_statvfs s;
	begin();
	vfs_crew(THREADS, storm, NULL);
	remove_below("/d");
	remove_below("/e");
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &s), 0);
	CHECK_EQUAL(s.ffree, 99);
	end(0);
}

VFS_MAIN
