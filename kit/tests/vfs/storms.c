// SPDX-License-Identifier: MIT OR Apache-2.0
// Storms: all calls of cf_vfs at once, and what must hold in the end.
#include "calls.h"

enum { STORMERS = 4, NAMES = 6 };

struct storm {
	long calls;
	struct cf_task *tasks[STORMERS];
	bool one_task, any;
};

static void some_path(uint64_t *random, char *path)
{
	int length = sprintf(path, "/d%u", random_below(random, 3));
	if (random_below(random, 3))
		length += sprintf(path + length, "/n%u", random_below(random, NAMES));
	if (!random_below(random, 6))
		sprintf(path + length, "/m%u", random_below(random, NAMES));
}

// A file's bytes are all the same, whoever writes, if each writes at 0 and within a page.
static void write_and_read(struct cf_task *t, int fd, uint64_t *random)
{
	static const int errors[] = { ENOSPC, EBADF, EISDIR, EINVAL, ENXIO, 0 };
	char bytes[512];
	int64_t got;
	memset(bytes, 'a' + (int)random_below(random, 26), sizeof bytes);
	expect(cf_vfs_pwrite(t, fd, bytes, sizeof bytes, 0), errors);
	got = cf_vfs_pread(t, fd, bytes, sizeof bytes, 0);
	expect(got, errors);
	for (int64_t i = 1; i < got; i++)
		CHECK_EQUAL(bytes[i], bytes[0]);
}

static void one_call(struct storm *x, struct cf_task *t, uint64_t *random)
{
	static const int errors[] = { ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EINVAL, EPERM, ENOSPC, EMFILE, ELOOP, EBUSY,
				      ENXIO, 0 };
	char path[64], other[64];
	struct cf_stat s;
	struct cf_dirent entries[5];
	int fd;
	some_path(random, path);
	some_path(random, other);
	switch (random_below(random, 12)) {
	case 0: expect(cf_vfs_mkdir(t, path, 0777), errors); break;
	case 1: expect(cf_vfs_rmdir(t, path), errors); break;
	case 2: expect(cf_vfs_unlink(t, path), errors); break;
	case 3:
	case 4: expect(cf_vfs_rename(t, path, other), errors); break;
	case 5: expect(cf_vfs_link(t, path, other), errors); break;
	case 6: expect(cf_vfs_symlink(t, other, path), errors); break;
	case 7: expect(cf_vfs_shrink(vfs, 1 + random_below(random, 20)), errors); break;
	case 8: expect(cf_vfs_stat(t, path, &s), errors); break;
	case 9: expect(cf_vfs_truncate(t, path, random_below(random, 2) * 512), errors); break;
	default:
		fd = cf_vfs_open(t, path, O_RDWR | (random_below(random, 2) ? O_CREAT : 0) | (x->any ? CF_O_ANYFD : 0), 0666);
		if (fd == -EISDIR)
			fd = cf_vfs_open(t, path, O_RDONLY, 0);
		expect(fd, errors);
		if (fd < 0)
			break;
		if (cf_vfs_fstat(t, fd, &s) == 0 && S_ISDIR(s.mode))
			expect(cf_vfs_readdir(t, fd, entries, 5), errors);
		else
			write_and_read(t, fd, random);
		CHECK_EQUAL(cf_vfs_close(t, fd), 0);
	}
}

// All below a directory.
static void remove_all(const char *path)
{
	struct cf_dirent entries[16];
	char name[CF_PATH_MAX];
	int fd = cf_vfs_open(task, path, O_RDONLY | O_DIRECTORY, 0), count;
	while ((count = cf_vfs_readdir(task, fd, entries, 16)) > 0)
		for (int i = 0; i < count; i++) {
			snprintf(name, sizeof name, "%s/%s", path, entries[i].name);
			if (!strcmp(entries[i].name, ".") || !strcmp(entries[i].name, ".."))
				continue;
			if (S_ISDIR(entries[i].type)) {
				remove_all(name);
				CHECK_EQUAL(cf_vfs_rmdir(task, name), 0);
			} else {
				CHECK_EQUAL(cf_vfs_unlink(task, name), 0);
			}
		}
	CHECK_EQUAL(count, 0);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
}

static void stormer(int id, void *argument)
{
	struct storm *x = argument;
	uint64_t random = (uint64_t)id * 77 + 5;
	for (long i = 0; i < x->calls; i++)
		one_call(x, x->tasks[x->one_task ? 0 : id], &random);
}

// What is there is consistent: names lead to inodes, links are counted, and all comes back.
static void storm(bool one_task, bool any, int64_t pages, int64_t inodes)
{
	struct storm x = { .calls = scaled(6000), .one_task = one_task, .any = any };
	begin(pages, inodes);
	for (int i = 0; i < STORMERS; i++)
		x.tasks[i] = user(0, 0);
	vfs_crew(STORMERS, stormer, &x);
	for (int i = 0; i < STORMERS; i++)
		cf_task_free(x.tasks[i]);
	remove_all("/");
	CHECK_EQUAL(free_pages(), pages);
	CHECK_EQUAL(free_inodes(), inodes ? inodes - 1 : 0);
	struct cf_stat s;
	CHECK_EQUAL(cf_vfs_stat(task, "/", &s), 0);
	CHECK_EQUAL(s.nlink, 2);
	CHECK_EQUAL(s.size, 0);
	end();
}

TEST("storm: all calls at once, tasks of their own")
{
	storm(false, false, 1000, 1000);
}

TEST("storm: one task, space and inodes short")
{
	storm(true, false, 12, 8);
}

TEST("storm: one task, any descriptors")
{
	storm(true, true, 60, 30);
}

// --- One name, made and removed by all: of those who make it exclusively one succeeds each time.

static long made[STORMERS], removed[STORMERS];

static void make_and_remove(int id, void *rounds)
{
	for (long i = 0; i < *(long *)rounds; i++) {
		int fd = cf_vfs_open(task, "/only", O_CREAT | O_EXCL | O_WRONLY, 0600);
		if (fd >= 0) {
			made[id]++;
			CHECK_EQUAL(cf_vfs_close(task, fd), 0);
		} else {
			CHECK_EQUAL(fd, -EEXIST);
		}
		removed[id] += cf_vfs_unlink(task, "/only") == 0;
	}
}

TEST("what is made exclusively is removed as often")
{
	long rounds = scaled(4000), balance = 0;
	begin(10, STORMERS + 2); // who has it open keeps the removed one
	for (int i = 0; i < STORMERS; i++)
		made[i] = removed[i] = 0;
	vfs_crew(STORMERS, make_and_remove, &rounds);
	for (int i = 0; i < STORMERS; i++)
		balance += made[i] - removed[i];
	CHECK_EQUAL(balance, cf_vfs_unlink(task, "/only") == 0);
	CHECK_EQUAL(free_pages(), 10);
	CHECK_EQUAL(free_inodes(), STORMERS + 1);
	end();
}

VFS_MAIN
