// SPDX-License-Identifier: MIT OR Apache-2.0
// One limit for what files hold and what the name cache holds, and the memory of both.
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

#include <fcntl.h>
#include <sys/stat.h>

enum { NAME = 300, OWN = CF_CHARGE_INODE + CF_CHARGE_DIRECTORY };

static struct cf_vfs *vfs;
static struct cf_task *task;

static void begin(int64_t bytes)
{
	struct cf_vfs_options options = { .bytes = bytes ? OWN + bytes : 0 };
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

static struct cf_vfs_usage usage(void)
{
	struct cf_vfs_usage u;
	cf_vfs_usage(vfs, &u);
	return u;
}

static int make(struct cf_task *by, const char *path)
{
	int fd = cf_vfs_open(by, path, O_CREAT | O_EXCL | O_WRONLY | CF_O_ANYFD, 0644);
	return fd < 0 ? fd : cf_vfs_close(by, fd);
}

static const char *name_of(char *buffer, const char *what, long i)
{
	snprintf(buffer, NAME, "/%s%ld", what, i);
	return buffer;
}

// Names that do not exist, of which every eighth is long.
static void miss(struct cf_task *by, long from, long to)
{
	char name[NAME];
	struct cf_stat s;
	for (long i = from; i < to; i++) {
		snprintf(name, sizeof name, i % 8 ? "/%ld" : "/%0200ld", i);
		CHECK_EQUAL(cf_vfs_stat(by, name, &s), -ENOENT);
	}
}

// Files until there is no room; how many.
static long fill(struct cf_task *by, const char *what)
{
	char name[NAME];
	long made = 0;
	int error;
	while ((error = make(by, name_of(name, what, made))) == 0)
		made++;
	CHECK_EQUAL(error, -ENOSPC);
	return made;
}

static void empty(struct cf_task *by, const char *what, long files)
{
	char name[NAME];
	for (long i = 0; i < files; i++)
		CHECK_EQUAL(cf_vfs_unlink(by, name_of(name, what, i)), 0);
}

TEST("what only the cache holds is free: for df, and for the last file")
{
	enum { BYTES = 100 * CF_PAGE, MISSES = 4000 };
	char name[NAME];
	long files;
	begin(BYTES);
	files = fill(task, "f");
	CHECK_EQUAL(files, BYTES / (CF_CHARGE_INODE + cf_charge_name(2))); // all names are as short as that to the limit
	end();
	begin(BYTES);
	miss(task, 0, MISSES);
	CHECK_EQUAL(free_pages(), 100);
	CHECK(cf_vfs_shrink(vfs, 1) == 1);
	CHECK_EQUAL(free_pages(), 100);
	CHECK_EQUAL(fill(task, "f"), files);
	CHECK_EQUAL(free_pages(), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, name_of(name, "f", 0)), 0);
	miss(task, 0, MISSES); // takes the place
	CHECK_EQUAL(make(task, "/last"), 0);
	CHECK_EQUAL(make(task, "/more"), -ENOSPC);
	CHECK_EQUAL(cf_vfs_unlink(task, "/last"), 0);
	for (long i = 1; i < files; i++)
		CHECK_EQUAL(cf_vfs_unlink(task, name_of(name, "f", i)), 0);
	CHECK_EQUAL(free_pages(), 100);
	end();
}

TEST("the cache stays below the limit, and old names make room for new ones")
{
	enum { BYTES = 64 * CF_PAGE, MISSES = 10000 };
	long taken_in = 0;
	begin(BYTES);
	miss(task, 0, MISSES);
	for (long i = 0; i < 1000; i++) {
		int64_t before = usage().charged;
		miss(task, MISSES + i, MISSES + i + 1);
		taken_in += usage().charged > before;
	}
	CHECK(taken_in > 800);
	CHECK(usage().dentries <= BYTES / (long)sizeof(struct cf_dentry) + 1);
	CHECK(usage().dentries >= BYTES / (long)sizeof(struct cf_dentry) / 2);
	end();
}

TEST("the cached name of what is made is no charge any more")
{
	struct cf_stat s;
	begin(CF_CHARGE_INODE + cf_charge_name(1)); // one file, to the byte
	CHECK_EQUAL(cf_vfs_stat(task, "/a", &s), -ENOENT);
	CHECK_EQUAL(usage().charged, sizeof(struct cf_dentry));
	CHECK_EQUAL(make(task, "/a"), 0);
	CHECK_EQUAL(usage().charged, 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/a", &s), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	while (cf_vfs_shrink(vfs, INT64_MAX))
		;
	CHECK_EQUAL(usage().charged, 0);
	CHECK_EQUAL(make(task, "/b"), 0);
	end();
}

TEST("a name that was used since the last scan makes room, too")
{
	struct cf_stat s;
	begin(CF_CHARGE_INODE + cf_charge_name(1));
	CHECK_EQUAL(cf_vfs_stat(task, "/x", &s), -ENOENT);
	CHECK_EQUAL(usage().charged, sizeof(struct cf_dentry));
	CHECK_EQUAL(make(task, "/a"), 0);
	end();
}

TEST("pages and holes take the cache's place, too")
{
	static char page[CF_PAGE];
	int fd, pages = 0;
	begin(20 * CF_PAGE);
	miss(task, 0, 1000);
	fd = cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0644);
	while (cf_vfs_write(task, fd, page, CF_PAGE) == CF_PAGE)
		pages++;
	CHECK_EQUAL(pages, 19);
	CHECK_EQUAL(cf_vfs_ftruncate(task, fd, 0), 0);
	miss(task, 0, 1000);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, 1, INT64_C(1) << 40), 1);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	end();
}

TEST("a full file system can be walked, and nothing is cached that there is no room for")
{
	char name[NAME];
	struct cf_stat s;
	long files;
	int64_t dentries;
	begin(60 * CF_PAGE);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(make(task, "/d/f"), 0);
	files = fill(task, "f");
	cf_vfs_shrink(vfs, INT64_MAX);
	dentries = usage().dentries;
	for (int round = 0; round < 3; round++) {
		CHECK_EQUAL(cf_vfs_stat(task, "/d/f", &s), 0);
		CHECK_EQUAL(cf_vfs_stat(task, "/d/missing", &s), -ENOENT);
		for (long i = 0; i < files; i++)
			CHECK_EQUAL(cf_vfs_stat(task, name_of(name, "f", i), &s), 0);
	}
	CHECK(usage().dentries <= dentries + 4); // what fits beside the last file
	empty(task, "f", files);
	CHECK_EQUAL(cf_vfs_unlink(task, "/d/f"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	CHECK_EQUAL(free_pages(), 60);
	end();
}

TEST("a name that is renamed is given back as it was charged")
{
	char longer[NAME], name[NAME];
	struct cf_stat s;
	begin(60 * CF_PAGE);
	for (long i = 0; i < 200; i++) {
		snprintf(longer, sizeof longer, "/%0250ld", i);
		name_of(name, "f", i % 3);
		// Names of files stay where they are, and their inodes move; directories take their names along.
		CHECK_EQUAL(i % 2 ? cf_vfs_mkdir(task, name, 0755) : make(task, name), 0);
		CHECK_EQUAL(cf_vfs_rename(task, name, longer), 0);
		CHECK_EQUAL(cf_vfs_stat(task, name, &s), -ENOENT);
		CHECK_EQUAL(cf_vfs_rename(task, longer, name), 0);
		CHECK_EQUAL(cf_vfs_stat(task, longer, &s), -ENOENT);
		CHECK_EQUAL(i % 2 ? cf_vfs_rmdir(task, name) : cf_vfs_unlink(task, name), 0);
	}
	while (cf_vfs_shrink(vfs, INT64_MAX))
		;
	CHECK_EQUAL(usage().charged, 0);
	CHECK_EQUAL(free_pages(), 60);
	end();
}

TEST("buffers of pipes and sockets count")
{
	const int64_t room = 5 * CF_CHARGE_STREAM;
	int fds[2], more[2], sockets[2];
	begin(room);
	miss(task, 0, 3000);
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(cf_vfs_socketpair(task, sockets, 0), 0);
	CHECK_EQUAL(free_pages(), (OWN + room - 3 * CF_CHARGE_STREAM - OWN) / CF_PAGE);
	CHECK_EQUAL(cf_vfs_pipe(task, more, 0), 0);
	CHECK_EQUAL(cf_vfs_socketpair(task, more, 0), -ENOBUFS); // one of two
	CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, "/fifo", S_IFIFO | 0644), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/fifo", O_RDONLY | O_NONBLOCK, 0), -ENOMEM);
	CHECK_EQUAL(cf_vfs_pipe(task, more, 0), -ENFILE);
	CHECK_EQUAL(cf_vfs_close(task, fds[0]), 0);
	CHECK_EQUAL(cf_vfs_pipe(task, more, 0), -ENFILE); // the other end is open
	CHECK_EQUAL(cf_vfs_close(task, fds[1]), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/fifo", O_WRONLY | O_NONBLOCK, 0), -ENXIO); // and has made nothing
	CHECK_EQUAL(cf_vfs_pipe(task, fds, 0), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/fifo"), 0);
	for (int fd = 0; fd < 8; fd++)
		(void)cf_vfs_close(task, fd);
	CHECK_EQUAL(free_pages(), room / CF_PAGE);
	end();
}

TEST("memory returns to its start")
{
	int64_t at_first;
	begin(0);
	cf_rcu_barrier();
	cf_vfs_shrink(vfs, INT64_MAX);
	at_first = usage().memory;
	for (int round = 0; round < 2; round++) {
		long files = scaled(3000);
		char name[NAME];
		for (long i = 0; i < files; i++)
			CHECK_EQUAL(make(task, name_of(name, i % 2 ? "f" : "a-name-that-needs-another-size-of-memory-for-its-entry", i)), 0);
		miss(task, 0, files);
		CHECK(usage().memory > at_first + files * 500);
		for (long i = 0; i < files; i++)
			CHECK_EQUAL(cf_vfs_unlink(task, name_of(name, i % 2 ? "f" : "a-name-that-needs-another-size-of-memory-for-its-entry", i)), 0);
		while (cf_vfs_shrink(vfs, INT64_MAX))
			;
		cf_rcu_barrier();
		cf_vfs_shrink(vfs, INT64_MAX);
		CHECK_EQUAL(usage().memory, at_first);
	}
	end();
}

// --- Two threads at the limit.

struct race {
	long made[CREW_MAX];
	uint32_t done;
};

static void race_work(int id, void *argument)
{
	struct race *race = argument;
	struct cf_task *own;
	char what[] = { 'a', 0 };
	what[0] += (char)id;
	CHECK_EQUAL(cf_task_new(&own, vfs, NULL), 0);
	if (id < 2) {
		race->made[id] = fill(own, what);
		__atomic_fetch_add(&race->done, 1, __ATOMIC_RELAXED);
	}
	for (long i = 0; id == 2 && (i < 100 || __atomic_load_n(&race->done, __ATOMIC_RELAXED) < 2); i++)
		miss(own, i * 8, i * 8 + 8);
	cf_task_free(own);
}

TEST("threads at the limit: nothing is sold twice, nothing is lost, and what is left can be used")
{
	enum { ROUNDS = 20 };
	long files;
	begin(50 * CF_PAGE);
	files = fill(task, "r");
	empty(task, "r", files);
	for (long round = 0; round < scaled(ROUNDS); round++) {
		struct race race = { .done = 0 };
		long rest, all;
		miss(task, 0, 2000);
		vfs_crew(3, race_work, &race);
		rest = fill(task, "r");
		all = race.made[0] + race.made[1] + rest;
		// Names are as long as in the count above, or shorter by a digit: the same charge.
		CHECK_EQUAL(all, files);
		CHECK_EQUAL(free_pages(), 0);
		empty(task, "a", race.made[0]);
		empty(task, "b", race.made[1]);
		empty(task, "r", rest);
		CHECK_EQUAL(free_pages(), 50);
	}
	end();
}

// --- Steps held apart (hold.h).

static int64_t result;

static void remove_first(void)
{
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	cf_rcu_unregister_thread();
}

static void make_second(void)
{
	struct cf_task *own;
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_task_new(&own, vfs, NULL), 0);
	result = make(own, "/d/b");
	cf_task_free(own);
	cf_rcu_unregister_thread();
}

TEST("who needs room waits for a dentry that is locked, instead of giving up")
{
	struct actor remover = { .act = remove_first, .cpu = 1, .stop_at = "dentry: frozen" };
	struct actor maker = { .act = make_second, .cpu = 0, .stop_at = "dcache: busy", .skip = 2 };
	struct cf_stat s;
	if (!two_cpus() || !CF_VFS_RCU_WALK) // with one dcache lock everybody waits for that
		return;
	// A directory, a file, and the cached names of both.
	begin(OWN + CF_CHARGE_INODE + 2 * cf_charge_name(1) + 2 * (int64_t)sizeof(struct cf_dentry));
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(make(task, "/a"), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/d", &s), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/a", &s), 0);
	CHECK_EQUAL(usage().charged, 2 * sizeof(struct cf_dentry));
	actor_start(&remover);
	CHECK(actor_wait_held(&remover));
	actor_start(&maker);
	CHECK(actor_wait_held(&maker)); // it has looked three times
	actor_end(&remover);
	actor_end(&maker);
	CHECK_EQUAL(result, 0);
	end();
}

VFS_MAIN
