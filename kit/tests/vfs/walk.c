// SPDX-License-Identifier: MIT OR Apache-2.0
// Paths: every way that they can end.
#include "threads.h"
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
	check_error("/x/", 0, -ENOENT);
	check_error("/f/y", 0, -ENOTDIR);
	check_error("/f/..", 0, -ENOTDIR);
	check_error("/f/.", 0, -ENOTDIR);
	check_error("/f/", 0, -ENOTDIR);
	check_error("/f", CF_WALK_DIRECTORY, -ENOTDIR);
	check_error("/a/b/c/", 0, -ENOTDIR);
	CHECK_EQUAL(fs_end(), 0);
}

// A path of `names` names of `length` bytes each.
static char *long_path(int names, int length)
{
	char *path = malloc((size_t)names * (size_t)(length + 1) + 1), *at = path;
	for (int i = 0; i < names; i++) {
		*at++ = '/';
		memset(at, 'n', (size_t)length);
		at += length;
	}
	*at = '\0';
	return path;
}

TEST("long names and long paths")
{
	char *longest = long_path(1, 255), *longer = long_path(1, 256), *fits = long_path(1, 4094), *path = long_path(1, 4095);
	char name[CF_NAME_MOST + 1];
	struct cf_dentry *d;
	int error;
	tree();
	CHECK_EQUAL(fs_create(longest), 0);
	check_same(longest, longest + 1);
	d = fs_get(longest, 0, &error);
	CHECK_EQUAL(cf_dentry_name(d, name), 255);
	CHECK(!strcmp(name, longest + 1));
	cf_dentry_put(d);
	CHECK_EQUAL(fs_create(longer), -ENAMETOOLONG);
	check_error(longer, 0, -ENAMETOOLONG);
	memset(fits, '/', 4095);
	memcpy(fits + 4093, "/f", 2);
	check_same("/f", fits); // 4095 bytes and a NUL
	memset(path, '/', 4096);
	memcpy(path + 4094, "/f", 2);
	check_error(path, 0, -ENAMETOOLONG);
	for (int length = 30; length <= 33; length++) { // around what fits into a dentry
		char *short_name = long_path(1, length);
		CHECK_EQUAL(fs_create(short_name), 0);
		check_same(short_name, short_name);
		short_name[length] = 'x';
		check_error(short_name, 0, -ENOENT);
		free(short_name);
	}
	free(longest);
	free(longer);
	free(fits);
	free(path);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("links")
{
	tree();
	CHECK_EQUAL(fs_symlink("/a/b", "/to"), 0);
	CHECK_EQUAL(fs_symlink("../f", "/a/up"), 0);
	CHECK_EQUAL(fs_symlink("nowhere", "/broken"), 0);
	CHECK_EQUAL(fs_symlink("loop", "/loop"), 0);
	CHECK_EQUAL(fs_symlink("/to/", "/slash"), 0);
	CHECK_EQUAL(fs_symlink("", "/empty"), 0);
	check_same("/a/b/c", "/to/c");
	check_same("/a/b/c", "/slash/c");
	check_same("/a/b", "/to");
	check_same("/a/b", "/to/");
	check_same("/f", "/a/up");
	check_same("/a", "/to/..");
	CHECK(fs_stat("/to", 0) != fs_stat("/a/b", 0)); // itself
	CHECK_EQUAL(fs_stat("/to/", 0), fs_stat("/a/b", 0));
	check_error("/broken", CF_WALK_FOLLOW, -ENOENT);
	check_error("/loop", CF_WALK_FOLLOW, -ELOOP);
	check_error("/loop/x", 0, -ELOOP);
	check_error("/empty", CF_WALK_FOLLOW, -ENOENT);
	check_error("/a/up/", CF_WALK_FOLLOW, -ENOTDIR);
	check_error("/a/up/x", 0, -ENOTDIR);
	CHECK_EQUAL(fs_end(), 0);
}

// link0 leads to the file, each other to the one before it.
static void chain_of_links(int links, const char *rest)
{
	char path[32], text[32];
	tree();
	for (int i = 0; i < links; i++) {
		snprintf(path, sizeof path, "/link%d", i);
		snprintf(text, sizeof text, "/link%d%s", i - 1, rest);
		CHECK_EQUAL(fs_symlink(i ? text : "/a", path), 0);
	}
}

TEST("forty links, and not one more")
{
	const char *const rests[] = { "", "/b/.." }; // at the end of a link's text, and in its middle
	for (int i = 0; i < 2; i++) {
		chain_of_links(41, rests[i]);
		check_same("/a/b/c", "/link39/b/c");
		check_same("/a", "/link39");
		check_error("/link40/b/c", 0, -ELOOP);
		check_error("/link40", CF_WALK_FOLLOW, -ELOOP);
		CHECK_EQUAL(fs_end(), 0);
	}
}

TEST("the directory and the last name of a path that is to be changed")
{
	struct cf_walk w;
	struct cf_dentry *b;
	int error;
	tree();
	b = fs_get("/a/b", 0, &error);
	w = fs_walk_of(CF_WALK_PARENT);
	CHECK_EQUAL(cf_walk(&w, "/a/b/new"), 0);
	CHECK(w.dentry == b && w.last.length == 3 && !memcmp(w.last.bytes, "new", 3) && !w.trailing);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/a/b/new///"), 0);
	CHECK(w.dentry == b && w.last.length == 3 && w.trailing);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/a/b/.."), 0);
	CHECK(w.dentry == b && w.last_type == CF_LAST_DOTDOT);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/a/b/."), 0);
	CHECK(w.dentry == b && w.last_type == CF_LAST_DOT);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/"), 0);
	CHECK(w.dentry == fs.super.root && w.last_type == CF_LAST_ROOT);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/f/new"), -ENOTDIR);
	CHECK_EQUAL(cf_walk(&w, "/x/new"), -ENOENT);
	cf_dentry_put(b);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a name that is to be made: its negative dentry, also at the end of links")
{
	struct cf_walk w;
	char name[CF_NAME_MOST + 1];
	tree();
	CHECK_EQUAL(fs_symlink("/a/b/new", "/to"), 0);
	for (int i = 0; i < 4; i++) {
		w = fs_walk_of(CF_WALK_CREATE | (i & 1 ? CF_WALK_FOLLOW : 0) | (i & 2 ? CF_WALK_REFERENCE : 0));
		CHECK_EQUAL(cf_walk(&w, i & 1 ? "/to" : "/a/b/new"), 0);
		CHECK(!w.dentry->inode && w.last.length);
		CHECK(cf_dentry_name(w.dentry, name) == 3 && !strcmp(name, "new"));
		cf_dentry_put(w.dentry);
	}
	w = fs_walk_of(CF_WALK_CREATE);
	CHECK_EQUAL(cf_walk(&w, "/f"), 0);
	CHECK(w.dentry->inode != NULL);
	cf_dentry_put(w.dentry);
	CHECK_EQUAL(cf_walk(&w, "/x/new"), -ENOENT);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("search permission at every step")
{
	struct cf_dentry *a;
	const uint32_t groups[] = { 7 };
	int error;
	tree();
	a = fs_get("/a", 0, &error);
	fs.cred = (struct cf_cred){ .uid = 5, .gid = 6 };
	check_same("/a/b/c", "/a/b/c");
	CF_INODE_STORE(a->inode, mode, S_IFDIR | 0750);
	check_error("/a/b/c", 0, -EACCES);
	check_error("/a/nothing", 0, -EACCES);
	check_error("/a/..", 0, -EACCES);
	CHECK(fs_stat("/a", 0) > 0);
	fs.cred.uid = a->inode->uid;
	check_same("/a/b/c", "/a/b/c");
	fs.cred = (struct cf_cred){ .uid = 5, .gid = 6, .groups = groups, .group_count = 1 };
	check_error("/a/b/c", 0, -EACCES);
	CF_INODE_STORE(a->inode, gid, 7);
	check_same("/a/b/c", "/a/b/c");
	CF_INODE_STORE(a->inode, mode, S_IFDIR | 0705); // the group may less than others
	check_error("/a/b/c", 0, -EACCES);
	fs.cred = (struct cf_cred){ .privileged = 1 };
	check_same("/a/b/c", "/a/b/c");
	CHECK_EQUAL(cf_inode_permission(a->inode, CF_MAY_EXEC, &fs.cred, true), 0);
	CF_INODE_STORE(a->inode, mode, S_IFREG | 0600);
	CHECK_EQUAL(cf_inode_permission(a->inode, CF_MAY_EXEC, &fs.cred, true), -EACCES);
	CF_INODE_STORE(a->inode, mode, S_IFDIR | 0755);
	cf_dentry_put(a);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("the root of a walk is its top")
{
	struct cf_walk w;
	struct cf_dentry *a;
	uint64_t number;
	int error;
	tree();
	a = fs_get("/a", 0, &error);
	for (unsigned flags = 0; flags <= CF_WALK_REFERENCE; flags += CF_WALK_REFERENCE) {
		w = (struct cf_walk){ .root = a, .start = a, .cred = &fs.cred, .flags = flags };
		CHECK_EQUAL(cf_walk_rcu(&w, "../../b/../..", fs_copy_number, &number), 0);
		CHECK_EQUAL(number, a->inode->number);
		CHECK_EQUAL(cf_walk_rcu(&w, "/../f", fs_copy_number, &number), -ENOENT);
	}
	cf_dentry_put(a);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a cached name is not asked for again, and a missing one neither")
{
	long lookups;
	tree();
	fs_stat("/a/b/c", 0);
	fs_stat("/a/b/d", 0);
	lookups = fs.lookups;
	fs_stat("/a/b/c", 0);
	fs_stat("/a/b/d", 0);
	CHECK_EQUAL(fs.lookups, lookups);
	while (cf_dcache_shrink(&fs.super, SIZE_MAX))
		;
	fs_stat("/a/b/c", 0);
	CHECK_EQUAL(fs.lookups, lookups + 3);
	CHECK_EQUAL(fs_end(), 0);
}

VFS_MAIN
