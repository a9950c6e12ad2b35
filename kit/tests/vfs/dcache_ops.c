// SPDX-License-Identifier: MIT OR Apache-2.0
// What dentries ask the file system: its operations tables, and names that are not in the cache.
#include "dentries.h"

// --- Operations tables.

static int says;
static long asked, discards, inode_puts;

static int revalidate(struct cf_dentry *d, bool may_wait)
{
	(void)d;
	if (!may_wait && says == -ECHILD)
		return -ECHILD;
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return says == -ECHILD ? 1 : says;
}

static bool discard(const struct cf_dentry *d)
{
	(void)d;
	discards++;
	return true;
}

static void put_inode(struct cf_dentry *d, struct cf_inode *inode)
{
	(void)d;
	inode_puts++;
	cf_inode_put(inode);
}

static uint32_t hash_without_case(const struct cf_dentry *directory, const char *bytes, size_t length)
{
	uint32_t hash = 0;
	(void)directory;
	for (size_t i = 0; i < length; i++)
		hash = hash * 31 + (uint32_t)(bytes[i] | 32);
	return hash;
}

static bool same_without_case(const struct cf_dentry *directory, const char *ours, size_t length, const struct cf_name *name)
{
	(void)directory;
	return length == name->length && !strncasecmp(ours, name->bytes, length);
}

// Linux 2.6.38 set the flags of a new table beside those of the old one, and called through its null pointers.
TEST("a table of operations that replaces another leaves none of its flags")
{
	const struct cf_dentry_ops full = { revalidate, hash_without_case, same_without_case, discard, put_inode };
	const struct cf_dentry_ops part = { .put_inode = put_inode };
	struct cf_dentry *d;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	d = find("n");
	cf_dentry_set_ops(d, &full);
	CHECK_EQUAL(cf_dentry_flags(d) & CF_DENTRY_OPS, CF_DENTRY_OPS);
	cf_dentry_set_ops(d, &part);
	CHECK_EQUAL(cf_dentry_flags(d) & CF_DENTRY_OPS, CF_DENTRY_OP_PUT_INODE);
	CHECK(fs_stat("/n", 0) > 0); // would revalidate
	cf_dentry_put(d);            // would discard
	cf_dentry_set_ops(d, NULL);
	CHECK_EQUAL(cf_dentry_flags(d) & CF_DENTRY_OPS, 0);
	CHECK_EQUAL(fs_end(), 0);
}

static void change_tables(int id, void *shared)
{
	static const struct cf_dentry_ops full = { .revalidate = revalidate, .put_inode = put_inode };
	static const struct cf_dentry_ops part = { .put_inode = put_inode };
	struct cf_dentry *n = shared;
	for (long i = 0; i < scaled(20000); i++)
		if (id == 0)
			cf_dentry_set_ops(n, i & 1 ? &full : i & 2 ? &part : NULL);
		else
			CHECK(fs_stat("/n", i & 1 ? CF_WALK_REFERENCE : 0) > 0);
}

TEST("tables that are replaced under walks")
{
	struct cf_dentry *n;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	says = 1;
	n = find("n");
	vfs_crew(3, change_tables, n);
	cf_dentry_set_ops(n, NULL);
	cf_dentry_put(n);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("revalidate: yes, no, and not in a read section")
{
	const struct cf_dentry_ops ops = { .revalidate = revalidate };
	const int answers[] = { 1, -ECHILD, -EIO };
	CHECK_EQUAL(fs_begin_with(&ops), 0);
	says = 1;
	CHECK_EQUAL(fs_create("/n"), 0);
	for (int i = 0; i < 3; i++) {
		says = answers[i];
		asked = fs.lookups = 0;
		CHECK(i == 2 ? fs_stat("/n", 0) == -EIO : fs_stat("/n", 0) > 0);
		CHECK(asked > 0 && fs.lookups == 0);
	}
	says = 1;
	CHECK_EQUAL(fs_end(), 0);
}

TEST("discard frees at the last put; put_inode is asked once for each inode")
{
	const struct cf_dentry_ops ops = { .discard = discard, .put_inode = put_inode };
	CHECK_EQUAL(fs_begin_with(&ops), 0);
	discards = inode_puts = 0;
	CHECK_EQUAL(fs_create("/n"), 0);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK(discards == 1 && inode_puts == 1);
	CHECK(fs_stat("/n", 0) > 0);
	CHECK(discards == 2 && inode_puts == 2);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("names that are the same by the file system's rule")
{
	const struct cf_dentry_ops ops = { .hash = hash_without_case, .same = same_without_case };
	CHECK_EQUAL(fs_begin_with(&ops), 0);
	CHECK_EQUAL(fs_create("/Name"), 0);
	CHECK(fs_stat("/NAME", 0) > 0);
	CHECK_EQUAL(fs_stat("/nAME", CF_WALK_REFERENCE), fs_stat("/Name", 0));
	CHECK_EQUAL(fs_end(), 0);
}

// --- Misses.

static void *found[4];

static void miss(int id, void *path)
{
	int error;
	found[id] = fs_get(path, 0, &error);
	CHECK_EQUAL(error, 0);
}

TEST("simultaneous misses of one name ask the backend once")
{
	for (int round = 0; round < 10; round++) {
		CHECK_EQUAL(fs_begin(), 0);
		CHECK_EQUAL(fs_create("/n"), 0);
		while (cf_dcache_shrink(&fs.super, SIZE_MAX))
			;
		fs.lookups = 0;
		fs.slow = 3000;
		vfs_crew(4, miss, "/n");
		CHECK_EQUAL(fs.lookups, 1);
		for (int i = 0; i < 4; i++) {
			CHECK(found[i] == found[0]);
			cf_dentry_put(found[i]);
		}
		CHECK_EQUAL(fs_end(), 0);
	}
}

static int fails;

static int lookup_fails(struct cf_inode *directory, const struct cf_name *name, struct cf_inode **inode)
{
	if (__atomic_fetch_sub(&fails, 1, __ATOMIC_RELAXED) > 0) {
		usleep(2000);
		return -EIO;
	}
	return memfs_lookup(directory, name, inode);
}

static void miss_until_found(int id, void *path)
{
	int error;
	(void)id;
	do {
		cf_dentry_put(fs_get(path, 0, &error));
		CHECK(error == 0 || error == -EIO);
	} while (error);
}

TEST("a backend that fails is asked again, by those who waited, too")
{
	struct cf_inode_ops ops = memfs_ops;
	ops.lookup = lookup_fails;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	while (cf_dcache_shrink(&fs.super, SIZE_MAX))
		;
	root()->inode->ops = &ops;
	fails = 6;
	vfs_crew(4, miss_until_found, "/n");
	CHECK(fails < 0);
	root()->inode->ops = &memfs_ops;
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

VFS_MAIN
