// SPDX-License-Identifier: MIT OR Apache-2.0
// Directories that are left and removed just as somebody is about to look at them: their names may be free then, or another
// directory's.
#include "calls.h"

static int result;
static struct cf_stat seen, expected;
static struct cf_dirent entries[2];

static void stat_empty_there(void)
{
	cf_rcu_register_thread();
	result = cf_vfs_fstatat(task, CF_AT_FDCWD, "", &seen, AT_EMPTY_PATH);
	cf_rcu_unregister_thread();
}

static void stat_dot_there(void)
{
	cf_rcu_register_thread();
	result = cf_vfs_stat(task, ".", &seen);
	cf_rcu_unregister_thread();
}

static void read_0_there(void)
{
	cf_rcu_register_thread();
	result = cf_vfs_readdir(task, 0, entries, 2);
	seen.ino = entries[1].ino;
	cf_rcu_unregister_thread();
}

// The name that has become free is made again, or not.
static void leave_working_directory(struct actor *looker, bool again)
{
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_chdir(task, "/d"), 0);
	actor_start(looker);
	CHECK(actor_wait_held(looker));
	CHECK_EQUAL(cf_vfs_chdir(task, "/"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	if (again)
		CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	actor_end(looker);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/", &expected), 0);
	CHECK_EQUAL(seen.ino, expected.ino);
	end();
}

TEST("a working directory that is left and removed under a stat of it")
{
	for (int again = 0; again < 2; again++)
		leave_working_directory(&(struct actor){ .act = stat_empty_there, .stop_at = "dentry: inode of what is pointed at" }, again);
}

TEST("a working directory that is left and removed under the beginning of a path")
{
	for (int again = 0; again < 2; again++)
		leave_working_directory(&(struct actor){ .act = stat_dot_there, .stop_at = "dentry: pointed at" }, again);
}

static void leave_directory_above(bool again)
{
	struct actor reader = { .act = read_0_there, .stop_at = "dentry: inode of what is pointed at" };
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/a", 0755), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/b", 0755), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/a/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/a/d", O_RDONLY, 0), 0);
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	CHECK_EQUAL(cf_vfs_rename(task, "/a/d", "/b/d"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/a"), 0);
	if (again)
		CHECK_EQUAL(cf_vfs_mkdir(task, "/a", 0755), 0);
	actor_end(&reader);
	CHECK_EQUAL(result, 2);
	CHECK_EQUAL(cf_vfs_stat(task, "/b", &expected), 0);
	CHECK_EQUAL(seen.ino, expected.ino);
	end();
}

TEST("a directory that is read as it moves, and the one above is removed")
{
	for (int again = 0; again < 2; again++)
		leave_directory_above(again);
}

// --- A file that is removed between the two paths of a link.

static void link_there(void)
{
	cf_rcu_register_thread();
	result = cf_vfs_link(task, "/f", "/d/a");
	cf_rcu_unregister_thread();
}

TEST("a file that is removed under a link of it gets no other name")
{
	struct actor linker = { .act = link_there, .stop_at = "lookup: missed" };
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/f", O_CREAT | O_WRONLY, 0644)), 0);
	actor_start(&linker);
	CHECK(actor_wait_held(&linker));
	CHECK_EQUAL(cf_vfs_unlink(task, "/f"), 0);
	actor_end(&linker);
	CHECK_EQUAL(result, -ENOENT);
	CHECK_EQUAL(cf_vfs_stat(task, "/d/a", &seen), -ENOENT);
	end();
}

// --- A directory that has lost its links, and not yet its name: what fails for the one must not come before the other.

static bool replaces; // by a rename, else it is removed
static int made;
static enum makes { OPENS, MAKES_DIRECTORY, LINKS, RENAMES, READS, MAKES } what;

static void remove_d_there(void)
{
	cf_rcu_register_thread();
	result = replaces ? cf_vfs_rename(task, "/e", "/d") : cf_vfs_rmdir(task, "/d");
	cf_rcu_unregister_thread();
}

static void make_in_d_there(void)
{
	cf_rcu_register_thread();
	switch (what) {
	case OPENS: made = cf_vfs_open(task, "/d/a", O_CREAT | O_WRONLY, 0644); break;
	case MAKES_DIRECTORY: made = cf_vfs_mkdir(task, "/d/a", 0755); break;
	case LINKS: made = cf_vfs_link(task, "/f", "/d/a"); break;
	case RENAMES: made = cf_vfs_rename(task, "/f", "/d/a"); break;
	default: made = cf_vfs_readdir(task, 0, entries, 2);
	}
	cf_rcu_unregister_thread();
}

static void make_before_the_name_goes(bool known)
{
	struct actor remover = { .act = remove_d_there, .stop_at = replaces ? "rename: names are left" : "rmdir: its name is left" };
	struct actor maker = { .act = make_in_d_there };
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/e", 0755), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/d", O_RDONLY, 0), 0);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/f", O_CREAT | O_WRONLY, 0644)), 0);
	if (known)
		CHECK_EQUAL(cf_vfs_stat(task, "/d/a", &seen), -ENOENT);
	actor_start(&remover);
	CHECK(actor_wait_held(&remover));
	actor_start(&maker);
	CHECK(!actor_finishes(&maker));
	actor_end(&remover);
	actor_end(&maker);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(made, -ENOENT);
	end();
}

TEST("nothing fails for a removed or replaced directory before its name has gone, too")
{
	for (int way = 0; way < 4; way++)
		for (what = OPENS; what < MAKES; what++) {
			replaces = way & 1;
			make_before_the_name_goes(way & 2);
		}
}

VFS_MAIN
