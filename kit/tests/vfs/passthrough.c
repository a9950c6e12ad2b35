// SPDX-License-Identifier: MIT OR Apache-2.0
// The backend that passes through to a directory, against the model: the same calls, the same results; and nothing outside of
// the directory is reached.
#include "threads.h"
#include "model/ours.h"
#include "model/random_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	return remove(path);
}

static bool run(uint64_t seed, long calls)
{
	static struct random_calls random;
	char directory[] = "/tmp/corefold-passthrough-XXXXXX";
	struct model_options options = { .fds = 40, .root_mode = 0777 };
	struct lockstep lockstep = { .looks = true, .long_first = true, .files_only = true,
				     .small_pipes = true };
	struct cred own = { geteuid(), getegid(), { 0 }, 0 };
	struct ours ours;
	bool same;
	if (!mkdtemp(directory) || chmod(directory, 0777))
		return false;
	for (int i = 0; i < MODEL_TASKS; i++)
		options.creds[i] = own;
	random = (struct random_calls){ .state = seed, .fds = 30, .largest = 20000 };
	lockstep.model = model_new(&options);
	CHECK_EQUAL(ours_new(&ours, &options, NULL, directory), 0);
	lockstep.other = (struct implementation){ "passed through", &ours, ours_call };
	same = lockstep_run(&lockstep, &random, calls);
	if (!same)
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	lockstep_free(&lockstep);
	ours_free(&ours);
	model_free(lockstep.model);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return same;
}

TEST("a directory's results are the model's")
{
	if (geteuid()) { // random owners need the right to change them
		skip("not root: chown would be refused where the model allows it");
		return;
	}
	for (uint64_t seed = 1; seed <= 3; seed++)
		CHECK(run(seed, scaled(3000)));
}

TEST("nothing outside of the directory is reached")
{
	char directory[] = "/tmp/corefold-passthrough-XXXXXX", path[64], text[32];
	struct cf_vfs_options options = { .backend = &cf_backend_directory };
	struct cf_vfs *vfs;
	struct cf_task *task;
	struct cf_stat s, root;
	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof path, "%s/up", directory);
	CHECK_EQUAL(symlink("../../../../../etc/passwd", path), 0);
	snprintf(path, sizeof path, "%s/absolute", directory);
	CHECK_EQUAL(symlink("/etc/passwd", path), 0);
	options.backend_argument = directory;
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/up", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_stat(task, "/absolute", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_open(task, "/absolute", O_RDONLY, 0), -ENOENT);
	CHECK_EQUAL(cf_vfs_stat(task, "/", &root), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/../..", &s), 0);
	CHECK_EQUAL(s.ino, root.ino);
	CHECK_EQUAL(cf_vfs_readlinkat(task, CF_AT_FDCWD, "/absolute", text, sizeof text), 11);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/etc", 0755), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/absolute", O_CREAT | O_RDWR, 0600), 0); // inside
	CHECK_EQUAL(cf_vfs_fstat(task, 0, &s), 0);
	CHECK_EQUAL(s.size, 0);
	cf_task_free(task);
	cf_vfs_free(vfs);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST("a named pipe is the directory's: who is outside is at its other end")
{
	char directory[] = "/tmp/corefold-passthrough-XXXXXX", path[64], byte = 0;
	struct cf_vfs_options options = { .backend = &cf_backend_directory, .backend_argument = directory };
	struct cf_vfs *vfs;
	struct cf_task *task;
	int outside;
	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof path, "%s/pipe", directory);
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, "/pipe", S_IFIFO | 0600), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/pipe", O_WRONLY | O_NONBLOCK, 0), -ENXIO);
	CHECK_EQUAL(cf_vfs_open(task, "/pipe", O_RDONLY | O_NONBLOCK, 0), 0);
	outside = open(path, O_WRONLY | O_NONBLOCK);
	CHECK(outside >= 0);
	CHECK_EQUAL(cf_vfs_read(task, 0, &byte, 1), -EAGAIN);
	CHECK_EQUAL(write(outside, "x", 1), 1);
	CHECK_EQUAL(cf_vfs_read(task, 0, &byte, 1), 1);
	CHECK_EQUAL(byte, 'x');
	CHECK_EQUAL(cf_vfs_pread(task, 0, &byte, 1, 0), -ESPIPE);
	close(outside);
	CHECK_EQUAL(cf_vfs_read(task, 0, &byte, 1), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/pipe", O_WRONLY, 0), 1);
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_write(task, 1, "x", 1), -EPIPE); // no signal ends this process
	cf_task_free(task);
	cf_vfs_free(vfs);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// Each cached inode is a descriptor of the process.
TEST("more files than the process may have open")
{
	enum { FILES = 1200 };
	char directory[] = "/tmp/corefold-passthrough-XXXXXX", path[64];
	struct cf_vfs_options options = { .backend = &cf_backend_directory };
	struct rlimit before, few;
	struct cf_vfs *vfs;
	struct cf_task *task;
	struct cf_stat s;
	CHECK(mkdtemp(directory) != NULL);
	CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 500;
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
	options.backend_argument = directory;
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "/%d", i);
		CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, path, S_IFREG | 0600), 0);
	}
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof path, "/%d", i);
		CHECK_EQUAL(cf_vfs_stat(task, path, &s), 0);
	}
	cf_task_free(task);
	cf_vfs_free(vfs);
	CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct cf_task *writing;

static void append(int fd)
{
	cf_rcu_register_thread();
	CHECK_EQUAL(cf_vfs_write(writing, fd, "a", 1), 1);
	cf_rcu_unregister_thread();
}

static void append_by_0(void)
{
	append(0);
}

static void append_by_1(void)
{
	append(1);
}

// One is held at a point while the other writes, or waits for it.
static void append_both(const char *held_at)
{
	char directory[] = "/tmp/corefold-passthrough-XXXXXX";
	struct cf_vfs_options options = { .backend = &cf_backend_directory, .backend_argument = directory };
	struct actor first = { .act = append_by_0, .stop_at = held_at }, second = { .act = append_by_1 };
	struct cf_vfs *vfs;
	struct cf_stat s;
	CHECK(mkdtemp(directory) != NULL);
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&writing, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_open(writing, "/f", O_CREAT | O_WRONLY | O_APPEND, 0600), 0);
	CHECK_EQUAL(cf_vfs_open(writing, "/f", O_WRONLY | O_APPEND, 0), 1);
	actor_start(&first);
	CHECK(actor_wait_held(&first));
	actor_start(&second);
	(void)actor_finishes(&second);
	actor_end(&first);
	actor_end(&second);
	CHECK_EQUAL(cf_vfs_stat(writing, "/f", &s), 0);
	CHECK_EQUAL(s.size, 2);
	CHECK_EQUAL(cf_vfs_lseek(writing, 0, 0, SEEK_CUR), 1);
	CHECK_EQUAL(cf_vfs_lseek(writing, 1, 0, SEEK_CUR), 2);
	cf_task_free(writing);
	cf_vfs_free(vfs);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST("of two writers the later one's attributes stay")
{
	append_both("passthrough: attributes");
}

TEST("a writer at the end is behind what it has written, not behind all that is there by now")
{
	append_both("passthrough: written");
}

// What only some file systems have, in answers of these functions, which stand before libc's: a file of another device whose
// number comes out as that of one of the directory's; a name above 255 bytes.
static ino_t other_device; // this file is there; 0: none
static bool long_name;     // instead of the next names

int fstat(int fd, struct stat *s)
{
	int result = fstatat(fd, "", s, AT_EMPTY_PATH);
	if (!result && s->st_ino == other_device) {
		s->st_dev ^= 1;
		s->st_ino ^= UINT64_C(1) << 44 ^ 1;
	}
	return result;
}

ssize_t getdents64(int fd, void *to, size_t size)
{
	ssize_t got = syscall(SYS_getdents64, fd, to, size);
	char *name = (char *)to + offsetof(struct dirent64, d_name);
	if (!long_name || got <= 0)
		return got;
	long_name = false;
	memset(name, 'n', 400);
	name[400] = '\0';
	return ((struct dirent64 *)to)->d_reclen = 1024;
}

// Files of numbers that differ in the lowest bit alone; their names, and the number of the second.
static ino_t make_pair(const char *directory, int name[2])
{
	ino_t last = 0;
	for (int i = 0; i < 1000; i++) {
		char path[64];
		struct stat s;
		snprintf(path, sizeof path, "%s/%d", directory, i);
		if (close(open(path, O_CREAT | O_WRONLY, 0600)) || stat(path, &s))
			break;
		if (s.st_ino == (last ^ 1)) {
			name[0] = i - 1, name[1] = i;
			return s.st_ino;
		}
		last = s.st_ino;
	}
	return 0;
}

TEST("a file of another device is not taken for one of the directory's")
{
	char directory[] = "/tmp/corefold-passthrough-XXXXXX", path[2][16];
	struct cf_vfs_options options = { .backend = &cf_backend_directory, .backend_argument = directory };
	int name[2] = { 0, 0 };
	ino_t second;
	struct cf_vfs *vfs;
	struct cf_task *task;
	struct cf_stat s;
	CHECK(mkdtemp(directory) != NULL);
	second = make_pair(directory, name);
	CHECK(second);
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof path[i], "/%d", name[i]);
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_stat(task, path[0], &s), 0);
	other_device = second;
	CHECK_EQUAL(cf_vfs_stat(task, path[1], &s), -EOVERFLOW);
	other_device = 0;
	CHECK_EQUAL(cf_vfs_stat(task, path[1], &s), 0);
	cf_task_free(task);
	cf_vfs_free(vfs);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TEST("a name that no call could reach is not listed")
{
	char directory[] = "/tmp/corefold-passthrough-XXXXXX";
	struct cf_vfs_options options = { .backend = &cf_backend_directory, .backend_argument = directory };
	struct cf_dirent entries[4];
	struct cf_vfs *vfs;
	struct cf_task *task;
	CHECK(mkdtemp(directory) != NULL);
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY | O_DIRECTORY, 0), 0);
	long_name = true;
	CHECK_EQUAL(cf_vfs_readdir(task, 0, entries, 4), 2);
	CHECK(!long_name);
	cf_task_free(task);
	cf_vfs_free(vfs);
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

VFS_MAIN
