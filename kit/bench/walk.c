// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads walk paths of three names over the caches and look at what they find; to be used with `corefold cc` and
// `corefold run`.
//   walk WHAT THREADS WALKS
// WHAT: different   each thread its own file, in one directory
//       same        all the same file
//       private     each thread its own file in its own directories: what no sharing at all would give
//       open        as different, but a reference is taken and put
//       missing     each thread its own name that is known not to exist
// The region that is measured begins when all threads have walked a few times.
#include "../tests/vfs/memfs.h"

#include <pthread.h>

enum { WARM_UP = 4, PATH = 64 };

static const char *what;
static long walks;
// Apart from what is read meanwhile.
static pthread_barrier_t ready CF_LINE_ALIGNED;
static uint32_t warm CF_LINE_ALIGNED, all_of_them;

static void check(int result)
{
	if (result)
		exit(fprintf(stderr, "walk: %s\n", strerror(-result)));
}

static void make_files(int threads)
{
	char path[PATH];
	check(fs_mkdir("/d"));
	check(fs_mkdir("/d/e"));
	for (int i = 0; i < threads; i++) {
		snprintf(path, sizeof path, "/d/e/f%d", i);
		check(fs_create(path));
		snprintf(path, sizeof path, "/t%d", i);
		check(fs_mkdir(path));
		snprintf(path, sizeof path, "/t%d/e", i);
		check(fs_mkdir(path));
		snprintf(path, sizeof path, "/t%d/e/f", i);
		check(fs_create(path));
	}
}

static void path_of(int id, char *path)
{
	if (!strcmp(what, "private"))
		snprintf(path, PATH, "/t%d/e/f", id);
	else if (!strcmp(what, "missing"))
		snprintf(path, PATH, "/d/e/g%d", id);
	else
		snprintf(path, PATH, "/d/e/f%d", strcmp(what, "same") ? id : 0);
}

static int64_t once(const char *path, int opens)
{
	int error;
	if (!opens)
		return fs_stat(path, CF_WALK_FOLLOW);
	cf_dentry_put(fs_get(path, CF_WALK_FOLLOW, &error));
	return error;
}

// All threads have registered, and are where they stay: who waits asleep may wake on another CPU.
static int warm_up(const char *path, int opens, int missing)
{
	int wrong = (once(path, opens) < 0) != missing;
	pthread_barrier_wait(&ready);
	for (int i = 0; i < WARM_UP; i++)
		wrong += (once(path, opens) < 0) != missing;
	__atomic_fetch_add(&warm, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&warm, __ATOMIC_RELAXED) < all_of_them)
		cf_pause();
	return wrong;
}

static void *thread(void *number)
{
	int opens = !strcmp(what, "open"), missing = !strcmp(what, "missing"), wrong;
	const long turns = walks;
	char path[PATH];
	path_of((int)(intptr_t)number, path);
	cf_rcu_register_thread();
	wrong = warm_up(path, opens, missing);
	CF_REGION_BEGIN();
	for (long i = 0; i < turns; i++) {
		wrong += (once(path, opens) < 0) != missing;
		CF_PROGRESS("walk");
	}
	CF_REGION_END();
	pthread_barrier_wait(&ready);
	cf_rcu_unregister_thread();
	return (void *)(intptr_t)wrong;
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[2]) : 0;
	pthread_t thread_of[threads + 1];
	if (threads <= 0 || atol(argv[3]) <= 0)
		return fprintf(stderr, "usage: walk different|same|private|open|missing THREADS WALKS\n"), 2;
	what = argv[1];
	walks = atol(argv[3]);
	all_of_them = (uint32_t)threads;
	cf_rcu_register_thread();
	check(fs_begin());
	make_files(threads);
	pthread_barrier_init(&ready, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		check(-pthread_create(&thread_of[i], NULL, thread, (void *)(intptr_t)i));
	for (int i = 0; i < threads; i++) {
		void *wrong;
		pthread_join(thread_of[i], &wrong);
		check(wrong ? -EIO : 0);
	}
	check(fs_end());
	cf_rcu_unregister_thread();
	printf("%s: %s\n", what, cf_vfs_policy_name());
	return 0;
}
