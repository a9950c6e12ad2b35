// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread for each CPU does random operations over few names, for `corefold explore`: what stays is found, a name that is
// replaced is always there, what moves is itself or not there, directories make no loop, memory is back at its start.
//   names OPERATIONS
// OPERATIONS of all threads.
#include "../vfs/memfs.h"

#include <pthread.h>
#include <sys/random.h>

#ifdef CF_TEST_POINTS
void cf_test_point(const char *where)
{
	(void)where;
}
#endif

enum { FILES = 2 };

static long operations;
static uint64_t seed;
static int64_t numbers[FILES];

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "names: %s\n", what);
	exit(1);
}

static uint32_t below(uint64_t *random, uint32_t bound)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % bound);
}

static void file_path(char *path, size_t size, int directory, uint32_t file)
{
	snprintf(path, size, "/%c/f%u", directory ? 'b' : 'a', file);
}

static void move_file(uint64_t *random)
{
	char from[16], to[16];
	uint32_t file = below(random, FILES), direction = below(random, 2);
	int result;
	file_path(from, sizeof from, direction != 0, file);
	file_path(to, sizeof to, direction == 0, file);
	result = fs_rename(from, to);
	check(result == 0 || result == -ENOENT, "a rename of a file fails");
}

static void look_for_file(uint64_t *random)
{
	char path[16];
	uint32_t file = below(random, FILES);
	int64_t number;
	file_path(path, sizeof path, below(random, 2) != 0, file);
	number = fs_stat(path, below(random, 2) ? CF_WALK_REFERENCE : 0);
	check(number == -ENOENT || number == numbers[file], "a file is another");
}

static void look_for_what_stays(uint64_t *random)
{
	unsigned flags = below(random, 2) ? CF_WALK_REFERENCE : 0;
	check(fs_stat("/a/stays", flags) > 0, "what stays is not found");
	check(fs_stat("/a/d/../stays", flags) > 0, "what stays is not found by \"..\"");
	check(fs_stat("/name", flags) > 0, "a name that is replaced is not found");
	check(fs_stat("/a/never", flags) == -ENOENT, "a name that never was is found");
}

static void replace(int id)
{
	char own[16];
	snprintf(own, sizeof own, "/own%d", id);
	check(fs_create(own) == 0, "create fails");
	check(fs_rename(own, "/name") == 0, "a rename over a name fails");
}

// Renames of "/x" and "/y" that have begun, and that have ended.
static long begun, ended;

static int cross_rename(const char *from, const char *to)
{
	int result;
	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	result = fs_rename(from, to);
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return result;
}

// Four looks at four moments: each may come just after a rename, but then three have taken effect between the first and the last:
// with x below y, x goes up, y goes down and up again.
static void cross(uint64_t *random)
{
	long before;
	if (below(random, 2))
		(void)(cross_rename("/x", "/y/x") || cross_rename("/y/x", "/x"));
	else
		(void)(cross_rename("/y", "/x/y") || cross_rename("/x/y", "/y"));
	before = __atomic_load_n(&ended, __ATOMIC_SEQ_CST);
	check((fs_stat("/x", 0) > 0 || fs_stat("/y/x", 0) > 0) || (fs_stat("/y", 0) > 0 || fs_stat("/x/y", 0) > 0) ||
		      __atomic_load_n(&begun, __ATOMIC_SEQ_CST) - before >= 3,
	      "both directories are gone");
}

static void check_crossed(void)
{
	int top = (fs_stat("/x", 0) > 0) + (fs_stat("/y", 0) > 0), below_other = (fs_stat("/y/x", 0) > 0) + (fs_stat("/x/y", 0) > 0);
	check(top + below_other == 2 && top > 0, "a directory is gone, or twice there");
}

static void *thread(void *number)
{
	uint64_t random = seed ^ (uint64_t)(uintptr_t)number * 0x9e3779b97f4a7c15u;
	cf_rcu_register_thread();
	for (long i = 0; i < operations; i++)
		switch (below(&random, 8)) {
		case 0:
		case 1:
			move_file(&random);
			break;
		case 2:
			look_for_file(&random);
			break;
		case 3:
			replace((int)(intptr_t)number);
			break;
		case 4:
			cross(&random);
			break;
		case 5:
			cf_dcache_shrink(&fs.super, below(&random, 4));
			break;
		default:
			look_for_what_stays(&random);
		}
	cf_rcu_unregister_thread();
	return NULL;
}

static void make_names(void)
{
	char path[16];
	check(fs_begin() == 0 && fs_mkdir("/a") == 0 && fs_mkdir("/b") == 0 && fs_mkdir("/a/d") == 0, "no directories");
	check(fs_mkdir("/x") == 0 && fs_mkdir("/y") == 0, "no directories");
	check(fs_create("/a/stays") == 0 && fs_create("/name") == 0, "no files");
	for (uint32_t i = 0; i < FILES; i++) {
		file_path(path, sizeof path, 0, i);
		check(fs_create(path) == 0, "no files");
		numbers[i] = fs_stat(path, 0);
	}
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[cpus];
	if (argc != 2 || atol(argv[1]) <= 0)
		return fprintf(stderr, "usage: names OPERATIONS\n"), 2;
	operations = (atol(argv[1]) + cpus - 1) / cpus;
	check(getrandom(&seed, sizeof seed, 0) == sizeof seed, "no randomness");
	cf_rcu_register_thread();
	make_names();
	for (long i = 0; i < cpus; i++)
		check(pthread_create(&threads[i], NULL, thread, (void *)i) == 0, "no thread");
	for (long i = 0; i < cpus; i++)
		pthread_join(threads[i], NULL);
	check_crossed();
	check(fs_end() == 0, "a reference is missing");
	check(fs.charged == 0, "memory is missing");
	cf_rcu_unregister_thread();
	printf("names: right\n");
	return 0;
}
