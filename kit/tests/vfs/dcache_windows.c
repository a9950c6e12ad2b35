// SPDX-License-Identifier: MIT OR Apache-2.0
// What must hold between two steps of a walk, a put, a removal or the shrinker.
#include "dentries.h"

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

static void stat_path_by_reference(void)
{
	cf_rcu_register_thread();
	result = fs_stat(path, CF_WALK_FOLLOW | CF_WALK_REFERENCE);
	cf_rcu_unregister_thread();
}

TEST("a walk by reference that goes up while its directory moves, and the one above is removed")
{
	struct actor walker = { .act = stat_path_by_reference, .cpu = 1, .stop_at = "dentry: pointed at" };
	if (!two_cpus())
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/b"), 0);
	CHECK_EQUAL(fs_mkdir("/a/d"), 0);
	path = "/a/d/..";
	actor_start(&walker);
	CHECK(actor_wait_held(&walker));
	CHECK_EQUAL(fs_rename("/a/d", "/b/d"), 0);
	CHECK_EQUAL(fs_rmdir("/a"), 0);
	actor_end(&walker);
	CHECK_EQUAL(result, fs_stat("/b", 0));
	CHECK_EQUAL(fs_end(), 0);
}

static char found_path[64];

static void find_path_of_held(void)
{
	char buffer[64], *found;
	int error;
	cf_rcu_register_thread();
	found = cf_dentry_path(held, root(), buffer, sizeof buffer, &error);
	snprintf(found_path, sizeof found_path, "%s", found ? found : strerror(-error));
	cf_rcu_unregister_thread();
}

// Before the scaled form renames wait for it.
TEST("a path is never the name of before in the directory of later")
{
	struct actor finder = { .act = find_path_of_held, .cpu = 1, .stop_at = "path: named" };
	int error;
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/b"), 0);
	CHECK_EQUAL(fs_create("/a/n"), 0);
	held = fs_get("/a/n", 0, &error);
	hold(&finder);
	CHECK_EQUAL(fs_rename("/a/n", "/b/m"), 0);
	actor_end(&finder);
	CHECK(!strcmp(found_path, "/b/m"));
	cf_dentry_put(held);
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

// --- A removed directory's names leave the cache, whatever else is under way with them.

static struct cf_dentry *removed;

static void drop_names(void)
{
	cf_rcu_register_thread();
	cf_dentry_drop_names(removed);
	cf_rcu_unregister_thread();
}

static struct cf_dentry *name_in(struct cf_dentry *directory)
{
	struct cf_name name = name_of("n");
	struct cf_dentry *d = NULL;
	CHECK_EQUAL(cf_dentry_find(directory, &name, false, &d), 0);
	return d;
}

// `removed` is a directory and `held` a name in it, which is not there; the LRU is empty.
static void begin_removed(void)
{
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/d"), 0);
	removed = fs_get("/d", 0, &error);
	cf_dcache_shrink(&fs.super, SIZE_MAX);
	held = name_in(removed);
	CHECK_EQUAL(fs_rmdir("/d"), 0); // without drop_names
}

// The root and the directory are left: the name did not stay to keep it.
static void end_removed(void)
{
	CHECK_EQUAL(cf_dcache_count(&fs.super), 2);
	cf_dentry_put(removed);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("a name that is being listed when its directory is removed does not stay")
{
	struct actor putter = { .act = put_held, .cpu = 1, .stop_at = "dentry: to be listed" };
	if (!two_cpus() || !CF_VFS_DENTRIES_SPLIT) // else both need the dcache lock
		return;
	begin_removed();
	actor_start(&putter);
	CHECK(actor_wait_held(&putter));
	cf_dentry_drop_names(removed);
	actor_end(&putter);
	end_removed();
}

TEST("a name whose last put still has its lock when its directory is removed does not stay")
{
	struct actor putter = { .act = put_held, .cpu = 1, .stop_at = "dentry: kept" };
	struct actor remover = { .act = drop_names, .cpu = 0 };
	if (!two_cpus() || !CF_VFS_DENTRIES_SPLIT)
		return;
	begin_removed();
	actor_start(&putter);
	CHECK(actor_wait_held(&putter));
	actor_start(&remover);
	CHECK(!actor_finishes(&remover));
	actor_end(&putter);
	actor_end(&remover);
	end_removed();
}

TEST("a name that the shrinker puts back when its directory is removed does not stay")
{
	struct actor shrinker = { .act = shrink_all, .cpu = 1, .stop_at = "dentry: isolating" };
	struct actor remover = { .act = drop_names, .cpu = 0 };
	if (!two_cpus() || !CF_VFS_RCU_WALK)
		return;
	begin_removed();
	cf_dentry_put(held);
	held = name_in(removed); // used before: its last put needs no lock
	CHECK_EQUAL(cf_dcache_unused(&fs.super), 1);
	hold(&shrinker);
	cf_dentry_put(held);
	__atomic_store_n(&shrinker.stop_at, "dentry: isolated", __ATOMIC_RELAXED);
	sem_post(&shrinker.go_on);
	CHECK(actor_wait_held(&shrinker));
	actor_start(&remover);
	CHECK(!actor_finishes(&remover));
	actor_end(&shrinker);
	actor_end(&remover);
	end_removed();
}

VFS_MAIN
