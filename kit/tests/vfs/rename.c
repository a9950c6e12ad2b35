// SPDX-License-Identifier: MIT OR Apache-2.0
// Renames: one by one, and beside walks, removals, other renames and the shrinker.
#include "threads.h"
#include "memfs.h"

TEST("a file gets another name, in its directory and in others")
{
	int64_t file;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	file = fs_stat("/n", 0);
	CHECK_EQUAL(fs_rename("/n", "/m"), 0);
	CHECK(fs_stat("/m", 0) == file && fs_stat("/n", 0) == -ENOENT);
	CHECK_EQUAL(fs_rename("/m", "/a/a name of more than thirty-one bytes"), 0);
	CHECK(fs_stat("/a/a name of more than thirty-one bytes", 0) == file && fs_stat("/m", 0) == -ENOENT);
	CHECK_EQUAL(fs_rename("/a/a name of more than thirty-one bytes", "/n"), 0);
	CHECK_EQUAL(fs_stat("/n", 0), file);
	CHECK_EQUAL(fs_rename("/n", "/n"), 0);
	CHECK_EQUAL(fs_stat("/n", 0), file);
	CHECK_EQUAL(fs_rename("/none", "/n"), -ENOENT);
	CHECK_EQUAL(fs_rename("/n", "/a"), -EISDIR);
	CHECK_EQUAL(fs_rename("/a", "/n"), -ENOTDIR);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("what had the name is gone, or stays with who has it open")
{
	struct cf_dentry *open;
	int64_t file, victim;
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/n"), 0);
	CHECK_EQUAL(fs_create("/m"), 0);
	file = fs_stat("/n", 0);
	victim = fs_stat("/m", 0);
	open = fs_get("/m", 0, &error);
	CHECK_EQUAL(fs_rename("/n", "/m"), 0);
	CHECK_EQUAL(fs_stat("/m", 0), file);
	CHECK_EQUAL((int64_t)open->inode->number, victim);
	CHECK_EQUAL(fs.evicted, 0);
	cf_dentry_put(open);
	CHECK_EQUAL(fs.evicted, 1);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("two names are exchanged")
{
	struct cf_dentry *a, *b;
	int64_t of_a, of_b;
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/d"), 0);
	CHECK_EQUAL(fs_create("/d/a"), 0);
	CHECK_EQUAL(fs_create("/b, with a name that is long enough"), 0);
	of_a = fs_stat("/d/a", 0);
	of_b = fs_stat("/b, with a name that is long enough", 0);
	a = fs_get("/d/a", 0, &error);
	b = fs_get("/b, with a name that is long enough", 0, &error);
	CHECK_EQUAL(cf_dentry_move(a, b, true), 0);
	CHECK_EQUAL(fs_stat("/d/a", 0), of_b);
	CHECK_EQUAL(fs_stat("/b, with a name that is long enough", 0), of_a);
	CHECK_EQUAL(cf_dentry_move(a, b, true), 0); // as the backend has it
	cf_dentry_put(a);
	cf_dentry_put(b);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

TEST("a file's inode moves from name to name, unless somebody has one of them")
{
	struct cf_dentry *a, *b;
	uint64_t of_a;
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/a"), 0);
	CHECK_EQUAL(fs_create("/b"), 0);
	of_a = (uint64_t)fs_stat("/a", 0);
	a = fs_get("/a", 0, &error);
	b = fs_get("/b", 0, &error);
	for (int i = 0; i < 2; i++) {
		cf_dentry_get(i ? a : b);
		CHECK(!cf_dentry_move_inode(a, b));
		cf_dentry_put(i ? a : b);
	}
	CHECK_EQUAL(cf_dentry_move_inode(a, b), CF_VFS_RCU_WALK);
	CHECK(!CF_VFS_RCU_WALK || (!a->inode && b->inode->number == of_a && a->count == 1 && b->count == 1));
	if (CF_VFS_RCU_WALK)
		CHECK(cf_dentry_move_inode(b, a)); // as the backend has it
	CHECK_EQUAL(a->inode->number, of_a);
	cf_dentry_put(a);
	cf_dentry_put(b);
	CHECK_EQUAL(fs_end(), 0);
}

TEST("no loops")
{
	struct cf_dentry *a, *below;
	struct cf_name name = cf_name_of("x", 1);
	int error;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/a/b"), 0);
	CHECK_EQUAL(fs_mkdir("/a/b/c"), 0);
	CHECK_EQUAL(fs_rename("/a", "/a/b/x"), -EINVAL);
	CHECK_EQUAL(fs_rename("/a", "/a/x"), -EINVAL);
	CHECK_EQUAL(fs_rename("/a/b/c", "/a"), -ENOTEMPTY);
	a = fs_get("/a", 0, &error);
	below = fs_get("/a/b/c", 0, &error);
	CHECK(cf_dentry_below(below, a) && cf_dentry_below(a, a) && !cf_dentry_below(a, below));
	cf_dentry_find(below, &name, false, &below); // the cache itself refuses, too
	CHECK_EQUAL(cf_dentry_move(a, below, false), -EINVAL);
	cf_dentry_put(below->parent);
	cf_dentry_put(below);
	cf_dentry_put(a);
	CHECK(fs_stat("/a/b/c", 0) > 0);
	CHECK_EQUAL(fs_end(), 0);
}

static int results[2];

static void x_below_y(void)
{
	cf_rcu_register_thread();
	results[0] = fs_rename("/x", "/y/x");
	cf_rcu_unregister_thread();
}

static void y_below_x(void)
{
	cf_rcu_register_thread();
	results[1] = fs_rename("/y", "/x/y");
	cf_rcu_unregister_thread();
}

TEST("who is whose ancestor stands still while a rename finds it out")
{
	struct actor first = { .act = x_below_y, .cpu = 1, .stop_at = "rename: ordered" };
	struct actor second = { .act = y_below_x, .cpu = 0 };
	if (!two_cpus())
		return;
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/x"), 0);
	CHECK_EQUAL(fs_mkdir("/y"), 0);
	actor_start(&first);
	CHECK(actor_wait_held(&first));
	actor_start(&second);
	CHECK(!actor_finishes(&second));
	actor_end(&first);
	actor_end(&second);
	CHECK_EQUAL(results[0], 0);
	CHECK(results[1] == -ENOENT || results[1] == -EINVAL);
	CHECK(fs_stat("/y/x", 0) > 0);
	CHECK_EQUAL(fs_end(), 0);
}

// --- Storms. Every name of `always` exists at any time in exactly one of two places.

static long turns;

enum { FILES = 4 };

static void move_files(uint64_t *random)
{
	char from[32], to[32];
	uint32_t file = random_below(random, FILES), direction = random_below(random, 2);
	snprintf(from, sizeof from, "/%c/f%u", direction ? 'a' : 'b', file);
	snprintf(to, sizeof to, "/%c/f%u", direction ? 'b' : 'a', file);
	(void)fs_rename(from, to);
}

// "stays" and "/a/d/.." are always there; f0 to f3 in /a or /b, so not in both and not for long in none.
static void look(uint64_t *random)
{
	unsigned flags = random_below(random, 2) ? CF_WALK_REFERENCE : 0;
	CHECK(fs_stat("/a/stays", flags) > 0);
	CHECK(fs_stat("/b/../a/d/../stays", flags) > 0);
	CHECK(fs_stat("/link/stays", flags) > 0);
	CHECK_EQUAL(fs_stat("/a/never", flags), -ENOENT);
}

static int64_t numbers[FILES];

static void look_for_file(uint64_t *random)
{
	char path[32];
	uint32_t file = random_below(random, FILES);
	int64_t number;
	snprintf(path, sizeof path, "/%c/f%u", random_below(random, 2) ? 'a' : 'b', file);
	number = fs_stat(path, random_below(random, 2) ? CF_WALK_REFERENCE : 0);
	CHECK(number == -ENOENT || number == numbers[file]);
}

static void rename_and_walk(int id, void *shared)
{
	uint64_t random = (uint64_t)id * 17 + 5;
	(void)shared;
	for (long i = 0; i < turns; i++) {
		if (id < 2)
			move_files(&random);
		else
			look(&random), look_for_file(&random);
		if (id == 2 && i % 64 == 0)
			cf_dcache_shrink(&fs.super, 16);
	}
}

TEST("renames beside walks: what stays is found, what moves is itself or not there")
{
	char path[32];
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/a"), 0);
	CHECK_EQUAL(fs_mkdir("/b"), 0);
	CHECK_EQUAL(fs_mkdir("/a/d"), 0);
	CHECK_EQUAL(fs_create("/a/stays"), 0);
	CHECK_EQUAL(fs_symlink("b/../a", "/link"), 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "/a/f%d", i);
		CHECK_EQUAL(fs_create(path), 0);
		numbers[i] = fs_stat(path, 0);
	}
	turns = scaled(3000);
	vfs_crew(5, rename_and_walk, NULL);
	for (int i = 0; i < FILES; i++) {
		int64_t in_a, in_b;
		snprintf(path, sizeof path, "/a/f%d", i);
		in_a = fs_stat(path, 0);
		path[1] = 'b';
		in_b = fs_stat(path, 0);
		CHECK((in_a == numbers[i] && in_b == -ENOENT) || (in_b == numbers[i] && in_a == -ENOENT));
	}
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

// One name, always there: files take it from each other.
static void replace_and_walk(int id, void *shared)
{
	char own[32];
	(void)shared;
	snprintf(own, sizeof own, "/own%d", id);
	for (long i = 0; i < turns; i++)
		if (id < 2) {
			CHECK_EQUAL(fs_create(own), 0);
			CHECK_EQUAL(fs_rename(own, "/name"), 0);
		} else {
			CHECK(fs_stat("/name", i & 1 ? CF_WALK_REFERENCE : 0) > 0);
		}
}

TEST("a name that is replaced again and again is always there")
{
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_create("/name"), 0);
	turns = scaled(2000);
	vfs_crew(4, replace_and_walk, NULL);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

// Directories go below each other, and would make loops if two renames did at once.
static void cross(int id, void *shared)
{
	(void)shared;
	for (long i = 0; i < turns; i++) {
		int error;
		if (id == 3)
			error = (int)fs_stat("/x/y/../../x/..", 0);
		else
			error = fs_rename(id ? "/x" : "/y", id ? "/y/x" : "/x/y");
		if (error == 0 && id != 3)
			error = fs_rename(id ? "/y/x" : "/x/y", id ? "/x" : "/y");
		CHECK(error == 0 || error == -ENOENT || error == -EINVAL || error == -ENOTEMPTY || error > 0);
	}
}

TEST("cross renames of directories make no loop")
{
	CHECK_EQUAL(fs_begin(), 0);
	CHECK_EQUAL(fs_mkdir("/x"), 0);
	CHECK_EQUAL(fs_mkdir("/y"), 0);
	turns = scaled(2000);
	vfs_crew(4, cross, NULL);
	// Both are still below the root, one perhaps in the other.
	CHECK((fs_stat("/x", 0) > 0 || fs_stat("/y/x", 0) > 0) && (fs_stat("/y", 0) > 0 || fs_stat("/x/y", 0) > 0));
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

// Everything at once over few names.
static void anything(int id, void *shared)
{
	uint64_t random = (uint64_t)id * 101 + 3;
	const char *const names[] = { "/p", "/q", "/p/r", "/q/s", "/p/r/t", "/p/a name that does not fit into a dentry" };
	(void)shared;
	for (long i = 0; i < turns; i++) {
		const char *one = names[random_below(&random, 6)], *other = names[random_below(&random, 6)];
		switch (random_below(&random, 8)) {
		case 0:
			fs_create(one);
			break;
		case 1:
			fs_mkdir(one);
			break;
		case 2:
			fs_unlink(one);
			break;
		case 3:
			fs_rmdir(one);
			break;
		case 4:
			fs_rename(one, other);
			break;
		case 5:
			cf_dcache_shrink(&fs.super, 2);
			break;
		default:
			fs_stat(one, random_below(&random, 2) ? CF_WALK_REFERENCE : 0);
		}
	}
}

TEST("storm: everything at once, and memory is back at its start")
{
	CHECK_EQUAL(fs_begin(), 0);
	turns = scaled(5000);
	vfs_crew(6, anything, NULL);
	CHECK_EQUAL(fs_end(), 0);
	CHECK_EQUAL(fs.charged, 0);
}

VFS_MAIN
