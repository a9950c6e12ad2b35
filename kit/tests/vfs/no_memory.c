// SPDX-License-Identifier: MIT OR Apache-2.0
// Without memory, what is made of several parts is not made, and nothing is left of it.
#include "../no_memory.h"
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

static const struct cf_icache_ops ops;
static struct cf_icache icache;
static struct cf_super super;
static struct cf_vfs *vfs;

static int make_icache(void)
{
	return cf_icache_init(&icache, &ops, NULL, 0);
}

static void destroy_icache(void)
{
	CHECK_EQUAL(cf_icache_destroy(&icache), 0);
}

static int make_super(void)
{
	return cf_super_init(&super, &(struct cf_super_options){ .icache_ops = &ops });
}

static void destroy_super(void)
{
	CHECK_EQUAL(cf_super_destroy(&super), 0);
}

static int make_vfs(void)
{
	return cf_vfs_new(&vfs, NULL);
}

static void destroy_vfs(void)
{
	cf_vfs_free(vfs);
}

TEST("an inode cache")
{
	each_allocation_fails(make_icache, destroy_icache);
}

TEST("the caches of a file system")
{
	each_allocation_fails(make_super, destroy_super);
}

TEST("a file system")
{
	each_allocation_fails(make_vfs, destroy_vfs);
}

VFS_MAIN
