// SPDX-License-Identifier: MIT OR Apache-2.0
// cf_vfs's calls: what the model does not compare, since several threads or several file systems take part.
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task; // root's

// So many pages beside the root directory.
static void begin(int64_t pages, int64_t inodes)
{
	struct cf_vfs_options options = { .inodes = inodes, .mode = 0777 };
	options.bytes = pages ? pages * CF_PAGE + CF_CHARGE_INODE + CF_CHARGE_DIRECTORY : 0;
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
}

static void end(void)
{
	cf_task_free(task);
	cf_vfs_free(vfs);
}

static int64_t free_pages(void)
{
	struct cf_statvfs s;
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &s), 0);
	return s.bfree;
}

static int64_t free_inodes(void)
{
	struct cf_statvfs s;
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &s), 0);
	return s.ffree;
}

static struct cf_task *user(uint32_t uid, uint32_t gid)
{
	struct cf_task *made;
	CHECK_EQUAL(cf_task_new(&made, vfs, &(struct cf_cred){ .uid = uid, .gid = gid }), 0);
	return made;
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

TEST("the last block is used, and every byte comes back")
{
	static char page[CF_PAGE];
	begin(20, 4);
	int fd = cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0644);
	int64_t pages = 0;
	while (cf_vfs_pwrite(task, fd, page, CF_PAGE, pages * CF_PAGE) == CF_PAGE)
		pages++;
	CHECK_EQUAL(pages, 19); // an inode, a name and a node of the tree: less than one
	CHECK_EQUAL(free_pages(), 0);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, pages * CF_PAGE), -ENOSPC);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, 1, 0), 1); // what is there can be written
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, 18 * CF_PAGE + 100), CF_PAGE - 100);
	CHECK_EQUAL(cf_vfs_ftruncate(task, fd, 0), 0);
	CHECK_EQUAL(free_pages(), 19);
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, INT64_C(1) << 40), CF_PAGE); // it lives while it is open
	CHECK(free_pages() < 19);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	CHECK_EQUAL(free_pages(), 20);
	CHECK_EQUAL(free_inodes(), 3);
	end();
}

TEST("a directory of a removed one's name keeps its names in the cache")
{
	struct cf_stat s;
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0); // its dentry stays, and says that there is none
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/d/missing", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_shrink(vfs, 100), 1); // the name
	CHECK_EQUAL(cf_vfs_shrink(vfs, 100), 1); // its directory
	end();
}

TEST("a directory that is removed or replaced goes at once, whatever was looked up in it")
{
	struct cf_stat s;
	begin(0, 4);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/d/missing", &s), -ENOENT);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	CHECK_EQUAL(free_inodes(), 3);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/e", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/e/missing", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_rename(task, "/d", "/e"), 0);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/e"), 0);
	end();
}

TEST("no inode is left, and none is lost")
{
	begin(100, 3);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/a", 0755), 0);
	CHECK_EQUAL(cf_vfs_symlink(task, "x", "/b"), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/c", 0755), -ENOSPC);
	CHECK_EQUAL(cf_vfs_open(task, "/c", O_CREAT | O_WRONLY, 0644), -ENOSPC);
	CHECK_EQUAL(cf_vfs_link(task, "/b", "/c"), 0); // a link is no inode
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 0); // no descriptor was lost either
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/b"), 0);
	CHECK_EQUAL(free_inodes(), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/c"), 0);
	CHECK_EQUAL(free_inodes(), 1);
	end();
}

TEST("descriptors run out, and none is lost")
{
	int fds[2];
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, 5), 0);
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), i);
	CHECK_EQUAL(cf_vfs_open(task, "/new", O_CREAT | O_WRONLY, 0644), -EMFILE);
	CHECK_EQUAL(cf_vfs_unlink(task, "/new"), -ENOENT); // it was not made
	CHECK_EQUAL(cf_vfs_dup(task, 0, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_socketpair(task, fds, 0), -EMFILE);
	CHECK_EQUAL(cf_vfs_close(task, 4), 0);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(fds[0], 2);
	CHECK_EQUAL(fds[1], 4);
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_dup(task, 1, CF_O_ANYFD), 0);
	CHECK_EQUAL(cf_vfs_dup(task, 1, CF_O_ANYFD), -EMFILE);
	end();
}

TEST("any descriptor is one that is free")
{
	enum { MANY = 300 };
	static bool seen[CF_TASK_FDS];
	begin(0, 0);
	memset(seen, 0, sizeof seen);
	for (int i = 0; i < MANY; i++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY | (i % 3 ? CF_O_ANYFD : 0), 0);
		CHECK(fd >= 0 && !seen[fd]);
		seen[fd] = true;
	}
	int lowest = 0;
	while (seen[lowest])
		lowest++;
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), lowest);
	end();
}

TEST("positions of a directory survive changes")
{
	enum { FILES = 200 };
	struct cf_dirent entry;
	bool seen[FILES] = { false };
	char name[32];
	int64_t position = 0;
	begin(0, 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "/f%d", i);
		CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, name, S_IFREG | 0644), 0);
	}
	// Half of the files go and others come while it is read, each time through another descriptor.
	for (int round = 0;; round++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY, 0), number;
		CHECK_EQUAL(cf_vfs_lseek(task, fd, position, SEEK_SET), position);
		int got = cf_vfs_readdir(task, fd, &entry, 1);
		CHECK_EQUAL(cf_vfs_close(task, fd), 0);
		if (got <= 0)
			break;
		position = entry.next;
		if (sscanf(entry.name, "f%d", &number) == 1 && number < FILES) {
			CHECK(!seen[number]);
			seen[number] = true;
		}
		snprintf(name, sizeof name, "/f%d", (round * 2 + 1) % FILES);
		cf_vfs_unlink(task, name);
		snprintf(name, sizeof name, "/f%d", FILES + round);
		cf_vfs_mknodat(task, CF_AT_FDCWD, name, S_IFREG | 0644);
		if (round > 3 * FILES)
			break;
	}
	for (int i = 0; i < FILES; i += 2)
		CHECK(seen[i]);
	end();
}

TEST("a task's rights are its own")
{
	struct cf_stat s;
	begin(0, 0);
	struct cf_task *one = user(1, 1), *two = user(2, 2);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/sticky", 0777), 0);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/sticky", 01777), 0);
	CHECK_EQUAL(cf_vfs_close(one, cf_vfs_open(one, "/sticky/one", O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQUAL(cf_vfs_open(two, "/sticky/one", O_RDONLY, 0), -EACCES);
	CHECK_EQUAL(cf_vfs_unlink(two, "/sticky/one"), -EPERM);
	CHECK_EQUAL(cf_vfs_rename(two, "/sticky/one", "/sticky/two"), -EPERM);
	CHECK_EQUAL(cf_vfs_unlink(one, "/sticky/one"), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/group", 0777), 0);
	CHECK_EQUAL(cf_vfs_fchownat(task, CF_AT_FDCWD, "/group", 0, 7, 0), 0);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/group", 02777), 0);
	CHECK_EQUAL(cf_vfs_mkdir(one, "/group/sub", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(one, "/group/sub", &s), 0);
	CHECK_EQUAL(s.gid, 7);
	CHECK_EQUAL(s.mode, S_IFDIR | 02755);
	CHECK_EQUAL(cf_vfs_chdir(one, "/group"), 0);
	CHECK_EQUAL(cf_vfs_stat(one, "sub", &s), 0);
	CHECK_EQUAL(cf_vfs_stat(two, "sub", &s), -ENOENT); // another working directory
	cf_task_free(one);
	cf_task_free(two);
	end();
}

// --- Pipes and sockets.

static int pipe_ends[2];

static void pipe_writer(int id, void *unused)
{
	char bytes[1000];
	(void)unused;
	for (int i = 0; i < 300; i++) {
		if (id == 0) {
			memset(bytes, i, sizeof bytes);
			CHECK_EQUAL(cf_vfs_write(task, pipe_ends[1], bytes, sizeof bytes), sizeof bytes);
		} else {
			for (size_t got = 0; got < sizeof bytes;)
				got += (size_t)cf_vfs_read(task, pipe_ends[0], bytes + got, sizeof bytes - got);
			CHECK(bytes[0] == (char)i && bytes[999] == (char)i);
		}
	}
	if (id == 0)
		CHECK_EQUAL(cf_vfs_close(task, pipe_ends[1]), 0);
	else
		CHECK_EQUAL(cf_vfs_read(task, pipe_ends[0], bytes, 1), 0);
}

TEST("a pipe passes bytes in order, and who must wait sleeps")
{
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_pipe(task, pipe_ends, 0), 0);
	vfs_crew(2, pipe_writer, NULL);
	CHECK_EQUAL(cf_vfs_close(task, pipe_ends[0]), 0);
	end();
}

TEST("sockets are connected both ways")
{
	char c = 0;
	int fds[2];
	struct cf_stat s;
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_socketpair(task, fds, O_NONBLOCK), 0);
	CHECK_EQUAL(cf_vfs_fstat(task, fds[0], &s), 0);
	CHECK(S_ISSOCK(s.mode));
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), -EAGAIN);
	CHECK_EQUAL(cf_vfs_write(task, fds[0], "x", 1), 1);
	CHECK_EQUAL(cf_vfs_write(task, fds[1], "y", 1), 1);
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), 1);
	CHECK_EQUAL(c, 'x');
	CHECK_EQUAL(cf_vfs_read(task, fds[0], &c, 1), 1);
	CHECK_EQUAL(c, 'y');
	CHECK_EQUAL(cf_vfs_lseek(task, fds[0], 0, SEEK_SET), -ESPIPE);
	CHECK_EQUAL(cf_vfs_close(task, fds[0]), 0);
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), 0);
	CHECK_EQUAL(cf_vfs_write(task, fds[1], "z", 1), -EPIPE);
	end();
}

// --- Storms: all of it at once, and what must hold in the end.

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

static void expect(int64_t result, const int *errors)
{
	for (; result < 0 && *errors && *errors != -result; errors++)
		;
	if (result < 0 && !*errors) {
		fprintf(stderr, "unexpected error %d\n", (int)-result);
		CHECK(false);
	}
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

// --- Descriptors of one task, opened and closed by all: each number is one thread's at a time.

struct owned {
	uint32_t owner[256];
	bool any;
	long rounds;
};

static void open_and_close(int id, void *argument)
{
	struct owned *x = argument;
	for (long i = 0; i < x->rounds; i++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY | (x->any ? CF_O_ANYFD : 0), 0);
		uint32_t none = 0;
		CHECK(fd >= 0 && fd < 256);
		CHECK(__atomic_compare_exchange_n(&x->owner[fd], &none, (uint32_t)id + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
		if (!x->any)
			CHECK(fd < STORMERS); // the lowest: no more are open at once
		__atomic_store_n(&x->owner[fd], 0, __ATOMIC_RELEASE);
		CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	}
}

TEST("a descriptor is one open's at a time, and the lowest if asked for")
{
	for (int any = 0; any < 2; any++) {
		struct owned x = { .any = any, .rounds = scaled(5000) };
		begin(0, 0);
		CHECK_EQUAL(cf_task_limit(task, 256), 0);
		vfs_crew(STORMERS, open_and_close, &x);
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 0);
		end();
	}
}

// --- Steps of an open and a close held apart (hold.h).

static int opened, looked_at;
static struct cf_stat seen;

static void open_there(void)
{
	cf_rcu_register_thread();
	opened = cf_vfs_open(task, "/", O_RDONLY, 0);
	cf_rcu_unregister_thread();
}

static void close_2_there(void)
{
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	cf_rcu_unregister_thread();
}

static void look_at_2_there(void)
{
	cf_rcu_register_thread();
	looked_at = cf_vfs_fstat(task, 2, &seen);
	cf_rcu_unregister_thread();
}

static void open_some(int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), i);
}

TEST("who has seen a close gets its descriptor, if that is the lowest")
{
	struct actor closer = { .act = close_2_there, .stop_at = "fd: closing" }, other = { .act = look_at_2_there };
	begin(0, 0);
	open_some(4);
	actor_start(&closer);
	CHECK(actor_wait_held(&closer));
	actor_start(&other);
	usleep(20000);
	CHECK(!__atomic_load_n(&other.done, __ATOMIC_ACQUIRE)); // it has not seen it yet
	actor_end(&closer);
	actor_end(&other);
	CHECK_EQUAL(looked_at, -EBADF);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 2);
	end();
}

TEST("a close beside a search for the lowest descriptor is not missed")
{
	struct actor opener = { .act = open_there, .stop_at = "fd: scanned" };
	begin(0, 0);
	open_some(2);
	CHECK_EQUAL(cf_vfs_dup2(task, 0, 2), 2); // the search begins at 2, which is taken
	actor_start(&opener);
	CHECK(actor_wait_held(&opener));
	CHECK_EQUAL(cf_vfs_close(task, 2), 0);
	actor_end(&opener);
	CHECK_EQUAL(opened, 2);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 3);
	end();
}

TEST("a close beside a search that finds no descriptor is not missed")
{
	struct actor opener = { .act = open_there, .stop_at = "fd: scanned" };
	begin(0, 0);
	CHECK_EQUAL(cf_task_limit(task, 3), 0);
	open_some(3);
	actor_start(&opener);
	CHECK(actor_wait_held(&opener));
	CHECK_EQUAL(cf_vfs_close(task, 1), 0);
	actor_end(&opener);
	CHECK_EQUAL(opened, 1);
	end();
}

static void open_new_there(void)
{
	cf_rcu_register_thread();
	opened = cf_vfs_open(task, "/new", O_RDONLY, 0);
	cf_rcu_unregister_thread();
}

// An open has found the file by its name, which is another one before it looks again.
TEST("an open beside a rename of its name keeps nothing")
{
	struct actor opener = { .act = open_new_there, .stop_at = "walk: copied" };
	begin(0, 10);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/new", O_CREAT | O_RDWR, 0644)), 0);
	actor_start(&opener);
	CHECK_EQUAL(actor_wait_held(&opener), CF_VFS_RCU_WALK);
	CHECK_EQUAL(cf_vfs_rename(task, "/new", "/other"), 0);
	actor_end(&opener);
	CHECK_EQUAL(cf_vfs_unlink(task, "/other"), 0);
	cf_vfs_close(task, opened);
	CHECK_EQUAL(free_inodes(), 9);
	end();
}

static void sync_2_there(void)
{
	cf_rcu_register_thread();
	looked_at = cf_vfs_fsync(task, 2);
	cf_rcu_unregister_thread();
}

TEST("a descriptor that dup2 gives another file was open all the time")
{
	struct actor syncer = { .act = sync_2_there, .stop_at = "fd: found" };
	begin(0, 0);
	open_some(3);
	actor_start(&syncer);
	CHECK(actor_wait_held(&syncer));
	CHECK_EQUAL(cf_vfs_dup2(task, 0, 2), 2);
	actor_end(&syncer);
	CHECK_EQUAL(looked_at, 0);
	end();
}

static int64_t was_read;

static void read_0_there(void)
{
	char bytes[100];
	cf_rcu_register_thread();
	was_read = cf_vfs_read(task, 0, bytes, sizeof bytes);
	cf_rcu_unregister_thread();
}

TEST("an open file that is closed under a read is not the next one's until the read has ended")
{
	struct actor reader = { .act = read_0_there, .stop_at = "mapping: read, found" };
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0600), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/b", O_CREAT | O_RDWR, 0600), 1);
	CHECK_EQUAL(cf_vfs_pwrite(task, 0, (char[100]){ 0 }, 100, 0), 100);
	actor_start(&reader);
	CHECK(actor_wait_held(&reader));
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/b", O_RDWR, 0), 0);
	actor_end(&reader);
	CHECK_EQUAL(was_read, 100);
	CHECK_EQUAL(cf_vfs_lseek(task, 0, 0, SEEK_CUR), 0); // it has a position of its own
	end();
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
