// SPDX-License-Identifier: MIT OR Apache-2.0
// Paths: every way that they can end.
#include "../harness.h"
#include "memfs.h"

static void tree(void)
{
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/a/b"), 0);
	CHECK_EQUAL(fs_create("/a/b/c"), 0);
	CHECK_EQUAL(fs_create("/f"), 0);
}

static void check_same(const char *one, const char *other)
{
	int64_t number = fs_stat(one, CF_WALK_FOLLOW);
	CHECK(number > 0);
	CHECK_EQUAL(fs_stat(other, CF_WALK_FOLLOW), number);
	CHECK_EQUAL(fs_stat(other, CF_WALK_FOLLOW | CF_WALK_REFERENCE), number);
}

// By sequence, by reference, and as a dentry.
static void check_error(const char *path, unsigned flags, int error)
{
	int found;
	CHECK_EQUAL(fs_stat(path, flags), error);
	CHECK_EQUAL(fs_stat(path, flags | CF_WALK_REFERENCE), error);
	cf_dentry_put(fs_get(path, flags, &found));
	CHECK_EQUAL(found, error);
}

TEST("a path leads to its inode")
{
	tree();
	check_same("/a/b/c", "a/b/c");
	check_same("/a/b/c", "//a//./b///c");
	check_same("/a/b/c", "/a/../a/b/../../../../a/b/c");
	check_same("/a/b", "/a/b/");
	check_same("/a/b", "/a/b/.");
	check_same("/", "..");
	check_same("/", ".");
	CHECK_EQUAL(fs_end(), 0);
}

TEST("what is not there")
{
	tree();
	check_error("", 0, -ENOENT);
	check_error("/x", 0, -ENOENT);
	check_error("/x", 0, -ENOENT); // by a negative dentry
	check_error("/x/y", 0, -ENOENT);
	check_error("/f/y", 0, -ENOTDIR);
	check_error("/f/..", 0, -ENOTDIR);
	check_error("/f/.", 0, -ENOTDIR);
	check_error("/f/", 0, -ENOTDIR);
	check_error("/f", CF_WALK_DIRECTORY, -ENOTDIR);
	check_error("/a/b/c/", 0, -ENOTDIR);
	CHECK_EQUAL(fs_end(), 0);
}

VFS_MAIN
