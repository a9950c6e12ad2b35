// SPDX-License-Identifier: MIT OR Apache-2.0
// Dentries one by one, and what must hold between two steps of them.
#include "threads.h"
#include "memfs.h"

static struct cf_dentry *root(void)
{
	return fs.super.root;
}

static struct cf_name name_of(const char *text)
{
	return cf_name_of(text, strlen(text));
}

static struct cf_dentry *find(const char *text)
{
	struct cf_name name = name_of(text);
	struct cf_dentry *d = NULL;
	CHECK_EQUAL(cf_dentry_find(root(), &name, false, &d), 0);
	return d;
}

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

// --- Steps held apart (hold.h). `act` of each runs with RCU.

static const char *path;
static int64_t result;

static void stat_path(void)
{
	cf_rcu_register_thread();
	result = fs_stat(path, CF_WALK_FOLLOW);
	cf_rcu_unregister_thread();
}

// 1: a dentry without an inode.
static void get_path(void)
{
	struct cf_dentry *d;
	int error;
	cf_rcu_register_thread();
	d = fs_get(path, 0, &error);
	result = error ? error : cf_dentry_inode(d) == NULL;
	cf_dentry_put(d);
	cf_rcu_unregister_thread();
}

static void shrink_all(void)
{
	cf_rcu_register_thread();
	cf_dcache_shrink(&fs.super, SIZE_MAX);
	cf_rcu_unregister_thread();
}

static struct cf_dentry *held;

static void put_held(void)
{
	cf_rcu_register_thread();
	cf_dentry_put(held);
	cf_rcu_unregister_thread();
}

// Starts `actor` and holds it at its point; false: this machine or policy does not come there.
static bool hold(struct actor *actor)
{
	bool is_held;
	actor_start(actor);
	is_held = actor_wait_held(actor);
	CHECK(is_held || !CF_VFS_RCU_WALK);
	return is_held;
}

// A file that was used before, so that its last put needs no lock.
static void begin_used(void)
{
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	held = fs_get("/n", 0, &error);
}

TEST("the backend is asked under the directory's semaphore")
{
	struct actor walker = { .act = get_path, .cpu = 1 };
	if (!two_cpus())
		return;
	CHECK_EQUAL(fs_begin(), 0);
	path = "/nothing";
	cf_vfs_sem_write(&root()->inode->sem);
	actor_start(&walker);
	CHECK(!actor_finishes(&walker));
	CHECK_EQUAL(__atomic_load_n(&fs.lookups, __ATOMIC_RELAXED), 0);
	cf_vfs_sem_write_done(&root()->inode->sem);
	actor_end(&walker);
	CHECK_EQUAL(result, -ENOENT);
	CHECK_EQUAL(fs.lookups, 1);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a walk between a name and its inode does not see one of before and one of after")
{
	const char *const steps[] = { "walk: found", "walk: copied" };
	for (int i = 0; two_cpus() && CF_VFS_RCU_WALK && i < 2; i++) {
		struct actor walker = { .act = stat_path, .cpu = 1, .stop_at = steps[i] };
		int64_t old;
		CHECK_EQUAL(fs_begin(), 0);
		CHECK_EQUAL(fs_create("/n"), 0);
		CHECK_EQUAL(fs_create("/other"), 0);
		old = fs_stat("/n", 0);
		path = "/n";
		hold(&walker);
		CHECK_EQUAL(fs_unlink("/n"), 0);
		CHECK_EQUAL(fs_rename("/other", "/n"), 0);
		actor_end(&walker);
		CHECK(result == fs_stat("/n", 0) && result != old);
		CHECK_EQUAL(fs_end(), 0);
	}
}

TEST("a walk that has found a name begins again when the dentry is another name's by then")
{
	struct actor walker = { .act = stat_path, .cpu = 1, .stop_at = "walk: named" };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	CHECK_EQUAL(fs_create("/other"), 0);
	path = "/n";
	hold(&walker);
	CHECK_EQUAL(fs_rename("/n", "/away"), 0);
	CHECK_EQUAL(fs_rename("/other", "/n"), 0);
	CHECK_EQUAL(fs_unlink("/away"), 0); // what the walk has found has no inode now
	actor_end(&walker);
	CHECK_EQUAL(result, fs_stat("/n", 0));
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a walk that goes up while its directory moves")
{
	struct actor walker = { .act = stat_path, .cpu = 1, .stop_at = "walk: going up" };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/b"), 0);
	CHECK_EQUAL(fs_mkdir("/a/d"), 0);
	CHECK_EQUAL(fs_create("/a/only"), 0);
	path = "/a/d/../only";
	hold(&walker);
	CHECK_EQUAL(fs_rename("/a/d", "/b/d"), 0);
	actor_end(&walker);
	CHECK_EQUAL(result, -ENOENT); // begins again: /a/d is gone
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a walk does not search a directory that it was not allowed to search, in the place of one that it was")
{
	struct actor walker = { .act = stat_path, .cpu = 1, .stop_at = "walk: searching" };
	struct cf_dentry *a;
	int error;
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	a = fs_get("/a", 0, &error); // the walk begins there
	fs.cred = (struct cf_cred){ .uid = 5, .gid = 5 };
	path = "/a/n";
	walker.skip = 1; // the root's
	hold(&walker);
	fs.cred = (struct cf_cred){ .privileged = 1 };
	cf_dentry_put(a);
	CHECK_EQUAL(fs_rmdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_create("/a/n"), 0);
	CHECK(find("a") == a); // the same dentry, another directory
	CF_INODE_STORE(a->inode, mode, S_IFDIR | 0700);
	cf_dentry_put(a);
	fs.cred = (struct cf_cred){ .uid = 5, .gid = 5 };
	actor_end(&walker);
	CHECK_EQUAL(result, -EACCES);
	fs.cred = (struct cf_cred){ .privileged = 1 };
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a reference that a walk takes while its name is removed is not on a name without an inode")
{
	const char *const steps[] = { "walk: grabbed", "walk: found", "walk: at the end" };
	for (int i = 0; two_cpus() && CF_VFS_RCU_WALK && i < 3; i++) {
		struct actor walker = { .act = get_path, .cpu = 1, .stop_at = steps[i] };
		CHECK_EQUAL(fs_begin(), 0);
		CHECK_EQUAL(fs_create("/n"), 0);
		path = "/n";
		hold(&walker);
		CHECK_EQUAL(fs_unlink("/n"), 0);
		actor_end(&walker);
		CHECK(result == -ENOENT || (i == 0 && result == 0));
		CHECK_EQUAL(fs_end(), 0);
		CHECK_EQUAL(fs.charged, 0);
	}
}

static void remove_path(void)
{
	cf_rcu_register_thread();
	result = fs_unlink(path);
	cf_rcu_unregister_thread();
}

static void get_by_reference(void)
{
	int error;
	cf_rcu_register_thread();
	cf_dentry_put(fs_get(path, CF_WALK_REFERENCE, &error));
	result = error;
	cf_rcu_unregister_thread();
}

TEST("a lookup that has taken a reference while the name moved away does not give it")
{
	struct actor walker = { .act = get_by_reference, .cpu = 1, .stop_at = "lookup: grabbed" };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	path = "/n";
	hold(&walker);
	CHECK_EQUAL(fs_rename("/n", "/m"), 0);
	actor_end(&walker);
	CHECK_EQUAL(result, -ENOENT);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("nobody gets a reference on a name whose inode goes")
{
	struct actor remover = { .act = remove_path, .cpu = 1, .stop_at = "dentry: frozen" };
	struct cf_dentry *n;
	int error;
	if (!two_cpus())
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	n = fs_get("/n", 0, &error);
	cf_dentry_put(n);
	path = "/n";
	actor_start(&remover);
	CHECK(actor_wait_held(&remover));
	CHECK(!cf_dentry_grab(n)); // the remover's reference keeps the memory
	actor_end(&remover);
	CHECK_EQUAL(result, 0);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a put beside a removal from the table frees the dentry")
{
	struct actor putter = { .act = put_held, .cpu = 1, .stop_at = "dentry: put" };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	begin_used();
	hold(&putter);
	cf_dentry_drop(held);
	actor_end(&putter);
	CHECK_EQUAL(cf_dcache_count(&fs.super), 1);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("a put beside the shrinker leaves the dentry on the LRU")
{
	struct actor shrinker = { .act = shrink_all, .cpu = 1, .stop_at = "dentry: isolating" };
	struct actor putter = { .act = put_held, .cpu = 0 };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	begin_used();
	hold(&shrinker);
	actor_start(&putter);
	(void)actor_finishes(&putter);
	actor_end(&shrinker);
	actor_end(&putter);
	CHECK_EQUAL(cf_dcache_unused(&fs.super), 1);
	CHECK_EQUAL(fs_end(), 0);
}

VFS_MAIN
