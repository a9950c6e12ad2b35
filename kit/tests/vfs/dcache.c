// SPDX-License-Identifier: MIT OR Apache-2.0
// Dentries one by one.
#include "dentries.h"

TEST("alloc, add, lookup, drop")
{
	struct cf_name name = name_of("n");
	struct cf_dentry *d;
	struct cf_inode *inode;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK(!cf_dentry_lookup(root(), &name));
	d = cf_dentry_alloc(root(), &name);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 2);
	CHECK(!cf_dentry_lookup(root(), &name)); // not added yet
	inode = memfs_inode(S_IFREG | 0644, &fs.cred);
	cf_dentry_add(d, inode);
	CHECK(cf_dentry_lookup(root(), &name) == d && cf_dentry_inode(d) == inode);
	cf_dentry_put(d);
	cf_dentry_drop(d);
	CHECK(!cf_dentry_lookup(root(), &name));
	cf_dentry_put(d); // the last one of an unhashed dentry frees it
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("a socket's dentry: no path leads to it, and its inode goes with it")
{
	struct cf_inode *inode;
	struct cf_dentry *d;
	int64_t inodes;
	CHECK_EQUAL(fs_begin(), 0);
	inodes = cf_icache_count(&fs.super.icache);
	inode = memfs_inode(S_IFSOCK | 0777, &fs.cred);
	inode->nlink = 0; // no name: not worth keeping
	d = cf_dentry_pseudo(&fs.super, inode);
	cf_inode_put(inode); // the dentry has its own reference
	CHECK(cf_dentry_inode(d) == inode && !(cf_dentry_flags(d) & CF_DENTRY_HASHED));
	CHECK_EQUAL(cf_dcache_count(&fs.super), 2);
	CHECK_EQUAL(cf_icache_count(&fs.super.icache), inodes + 1);
	cf_dentry_put(d);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK_EQUAL(cf_icache_count(&fs.super.icache), inodes);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("a negative dentry becomes positive, and negative again")
{
	struct cf_dentry *d;
	CHECK_EQUAL(fs_begin(), 0);
	d = find("n");
	CHECK(!cf_dentry_inode(d));
	CHECK_EQUAL(fs_create("/n"), 0);
	CHECK(cf_dentry_inode(d) != NULL);
	cf_dentry_put(d);
	CHECK_EQUAL(fs_unlink("/n"), 0);
	CHECK(find("n") == d && !cf_dentry_inode(d)); // the same one, from the cache
	cf_dentry_put(d);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a removed name that is in use keeps its inode, and a new one is another")
{
	struct cf_dentry *open;
	struct cf_inode *inode;
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	open = fs_get("/n", 0, &error);
	inode = open->inode;
	CHECK_EQUAL(fs_unlink("/n"), 0);
	CHECK(open->inode == inode && inode->nlink == 0);
	CHECK_EQUAL(fs_stat("/n", 0), -ENOENT);
	CHECK_EQUAL(fs_create("/n"), 0);
	CHECK(fs_stat("/n", 0) != (int64_t)inode->number);
	CHECK_EQUAL(fs.evicted, 0);
	cf_dentry_put(open);
	CHECK_EQUAL(fs.evicted, 1);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("the shrinker takes what is unused, and its directories after it")
{
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/a/b"), 0);
	CHECK_EQUAL(fs_create("/a/b/c"), 0);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 4);
	CHECK(cf_dcache_unused(&fs.super) >= 1);
	while (cf_dcache_shrink(&fs.super, 1))
		;
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK_EQUAL(fs_exists("/a/b/c"), 0);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("a dentry that was used is shrunk after one that was not")
{
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/old"), 0);
	CHECK_EQUAL(fs_create("/used"), 0);
	while (cf_dcache_unused(&fs.super) == 2 && !cf_dcache_shrink(&fs.super, 1))
		CHECK_EQUAL(fs_exists("/used"), 0);
	CHECK_EQUAL(cf_dcache_unused(&fs.super), 1);
	fs.lookups = 0;
	CHECK_EQUAL(fs_exists("/used"), 0);
	CHECK_EQUAL(fs.lookups, 0);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("the names of a removed directory do not keep it")
{
	struct cf_dentry *d, *n;
	struct cf_name name = name_of("n");
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/d"), 0);
	CHECK_EQUAL(fs_create("/d/c"), 0);
	CHECK_EQUAL(fs_unlink("/d/c"), 0);
	d = fs_get("/d", 0, &error);
	CHECK_EQUAL(cf_dentry_find(d, &name, false, &n), 0); // negative, and a walk has it
	CHECK_EQUAL(fs_rmdir("/d"), 0);
	cf_dentry_drop_names(d);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 3); // the root, d, n
	CHECK_EQUAL(fs.evicted, 1);
	cf_dentry_put(d);
	cf_dentry_put(n);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK_EQUAL(fs.evicted, 2);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a path from a dentry")
{
	struct cf_dentry *d, *a;
	char buffer[64];
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/a/b"), 0);
	a = fs_get("/a", 0, &error);
	d = fs_get("/a/b", 0, &error);
	CHECK(!strcmp(cf_dentry_path(d, root(), buffer, sizeof buffer, &error), "/a/b"));
	CHECK(!strcmp(cf_dentry_path(d, a, buffer, sizeof buffer, &error), "/b"));
	CHECK(!strcmp(cf_dentry_path(root(), root(), buffer, sizeof buffer, &error), "/"));
	CHECK(!strcmp(cf_dentry_path(d, root(), buffer, 5, &error), "/a/b"));
	CHECK(!cf_dentry_path(d, root(), buffer, 4, &error) && error == -ENAMETOOLONG);
	CHECK_EQUAL(fs_rmdir("/a/b"), 0);
	CHECK(!cf_dentry_path(d, root(), buffer, sizeof buffer, &error) && error == -ENOENT);
	cf_dentry_put(d);
	cf_dentry_put(a);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a removed directory has no names, and gets none")
{
	struct cf_name name = name_of("n");
	struct cf_dentry *d, *n;
	long lookups;
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/d"), 0);
	d = fs_get("/d", 0, &error);
	CHECK_EQUAL(fs_rmdir("/d"), 0);
	lookups = fs.lookups;
	CHECK_EQUAL(cf_dentry_find(d, &name, false, &n), -ENOENT);
	CHECK_EQUAL(fs.lookups, lookups);
	cf_dentry_put(d);
	CHECK_EQUAL(fs_end(), 0);
}

VFS_MAIN
