// SPDX-License-Identifier: MIT OR Apache-2.0
// What a path walk costs, beside that of Linux's tmpfs in the same run: stat of different files by paths of three names, in the
// kit's file system and in the kernel's less an empty system call.
//   tmpfs      prints medians over interleaved rounds; 1 if even the lower quartile of their ratios is above 1.3
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_rcu.h>
#include <corefold/cf_vfs.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FILES = 64, PASSES = 40, ROUNDS = 301, WARM_UP = 20, PATH = 16 };
static const double MOST = 1.3;

static char paths[FILES][PATH]; // from the root directory: without a slash in front for the kernel
static char place[] = "/dev/shm/corefold-walk-XXXXXX";
static int root;
static struct cf_vfs *vfs;
static struct cf_task *task;

static void check(const char *what, int error)
{
	if (error >= 0)
		return;
	fprintf(stderr, "tmpfs: %s: %s\n", what, strerror(-error));
	exit(2);
}

static int kernel(int result)
{
	return result < 0 ? -errno : 0;
}

static void make_files(void)
{
	check("mkdir", kernel(mkdirat(root, "d", 0755)));
	check("mkdir", kernel(mkdirat(root, "d/e", 0755)));
	check("mkdir in the kit", cf_vfs_mkdir(task, "/d", 0755));
	check("mkdir in the kit", cf_vfs_mkdir(task, "/d/e", 0755));
	for (int i = 0; i < FILES; i++) {
		snprintf(paths[i], PATH, "/d/e/f%d", i);
		check("mknod", kernel(mknodat(root, paths[i] + 1, S_IFREG | 0644, 0)));
		check("mknod in the kit", cf_vfs_mknodat(task, CF_AT_FDCWD, paths[i], S_IFREG | 0644));
	}
}

static void remove_files(void)
{
	for (int i = 0; i < FILES; i++)
		unlinkat(root, paths[i] + 1, 0);
	unlinkat(root, "d/e", AT_REMOVEDIR);
	unlinkat(root, "d", AT_REMOVEDIR);
	rmdir(place);
}

static void stat_in_kit(int file)
{
	struct cf_stat s;
	check("stat in the kit", cf_vfs_stat(task, paths[file], &s));
}

static void stat_in_tmpfs(int file)
{
	struct stat s;
	check("stat", kernel(fstatat(root, paths[file] + 1, &s, 0)));
}

static void call_nothing(int file)
{
	(void)file;
	(void)syscall(SYS_getppid);
}

// Nanoseconds each.
static double time_of(void (*call)(int file))
{
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int pass = 0; pass < PASSES; pass++)
		for (int file = 0; file < FILES; file++)
			call(file);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (PASSES * FILES);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// 1 to 3; 2 is the median.
static double quartile(double *figures, int which)
{
	qsort(figures, ROUNDS, sizeof *figures, compare);
	return figures[ROUNDS * which / 4];
}

static double measure(void)
{
	static double kit[ROUNDS], tmpfs[ROUNDS], empty[ROUNDS], ratio[ROUNDS];
	for (int round = -WARM_UP; round < ROUNDS; round++) {
		double k = time_of(stat_in_kit), t = time_of(stat_in_tmpfs), e = time_of(call_nothing);
		if (round < 0)
			continue;
		kit[round] = k;
		tmpfs[round] = t;
		empty[round] = e;
		ratio[round] = k / (t - e);
	}
	printf("stat of a path of three names, medians of %d rounds: kit %.0f ns, tmpfs %.0f ns, an empty system call %.0f ns\n", ROUNDS,
	       quartile(kit, 2), quartile(tmpfs, 2), quartile(empty, 2));
	printf("kit / (tmpfs - empty call): %.2f (quartiles %.2f and %.2f; at most %.1f)\n", quartile(ratio, 2), quartile(ratio, 1),
	       quartile(ratio, 3), MOST);
	return quartile(ratio, 1);
}

static bool is_there(void)
{
	struct statfs s;
	if (statfs("/dev/shm", &s) || s.f_type != TMPFS_MAGIC)
		printf("SKIPPED: no tmpfs at /dev/shm to compare with\n");
	else if (!mkdtemp(place) || (root = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		printf("SKIPPED: nothing can be made in /dev/shm: %s\n", strerror(errno));
	else
		return true;
	return false;
}

int main(void)
{
	double least;
	if (!is_there())
		return 0;
	cf_rcu_register_thread();
	check("the kit's file system", cf_vfs_new(&vfs, NULL));
	check("a task", cf_task_new(&task, vfs, NULL));
	make_files();
	least = measure();
	remove_files();
	cf_task_free(task);
	cf_vfs_free(vfs);
	cf_rcu_unregister_thread();
	return least > MOST;
}
