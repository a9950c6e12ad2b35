/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of /proc about the program's threads: the threads are those that gettid knows, by the names that they have. */
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 4 };

static pthread_barrier_t begun, listed;
static pid_t ids[THREADS];

/* The first line of a file that begins with `key`, after that; empty if there is none. */
static const char *line_of(const char *path, const char *key)
{
	static _Thread_local char line[512];
	FILE *file = fopen(path, "r");
	const char *found = "";

	CHECK(file);
	while (!*found && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			found = line + strlen(key);
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return found;
}

/* What the files in a thread's folder say. */
static void check_folder(const char *folder, pid_t id, const char *name)
{
	char path[96], begin[64];

	snprintf(path, sizeof(path), "%s/comm", folder);
	CHECK(!strcmp(line_of(path, ""), name));
	snprintf(path, sizeof(path), "%s/status", folder);
	CHECK(atoi(line_of(path, "Pid:")) == id && atoi(line_of(path, "Tgid:")) == getpid());
	CHECK(!strcmp(line_of(path, "Name:\t"), name) && atoi(line_of(path, "Threads:")) == THREADS + 1);
	snprintf(path, sizeof(path), "%s/stat", folder);
	snprintf(begin, sizeof(begin), "%d (%s) ", id, name);
	CHECK(*line_of(path, begin));
	snprintf(path, sizeof(path), "%s/cmdline", folder);
	CHECK(access(path, R_OK) == 0);
}

static void *work(void *number)
{
	int me = (int)(long)number;
	char path[64], name[16], link[64], target[64] = "";

	ids[me] = gettid();
	snprintf(name, sizeof(name), "worker %d", me);
	CHECK(pthread_setname_np(pthread_self(), name) == 0);
	pthread_barrier_wait(&begun);
	check_folder("/proc/thread-self", ids[me], name);
	snprintf(path, sizeof(path), "/proc/self/task/%d", ids[me]);
	check_folder(path, ids[me], name);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", getpid(), ids[me]);
	check_folder(path, ids[me], name);
	snprintf(path, sizeof(path), "/proc/%d", ids[me]);
	check_folder(path, ids[me], name);
	snprintf(link, sizeof(link), "%d/task/%d", getpid(), ids[me]);
	CHECK(readlink("/proc/thread-self", target, sizeof(target) - 1) == (ssize_t)strlen(link));
	CHECK(!strcmp(target, link));
	pthread_barrier_wait(&listed);
	return NULL;
}

/*
 * Lists the threads; `known`: how many of `ids` there are. Returns how many there are at all. Without the simulation, a thread
 * that has been joined may end between any two of the calls: open then fails, and read of a file opened before.
 */
static int list(int *known)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	CHECK(folder);
	for (*known = 0; (entry = readdir(folder));) {
		pid_t id = atoi(entry->d_name);
		char path[300], text[16];

		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/comm", entry->d_name);
		int fd = openat(dirfd(folder), path, O_RDONLY);
		int there = fd >= 0 && read(fd, text, sizeof(text)) > 0;

		CHECK(there || (!simulated() && (errno == ENOENT || errno == ESRCH)));
		CHECK(fd < 0 || close(fd) == 0);
		if (!there)
			continue;
		count++;
		CHECK(id == getpid() || !strncmp(text, "worker ", 7));
		for (int i = 0; i < THREADS; i++)
			*known += id == ids[i];
	}
	closedir(folder);
	return count;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct stat status;
	char path[64], target[32] = "";
	int known;

	CHECK(pthread_barrier_init(&begun, NULL, THREADS + 1) == 0);
	CHECK(pthread_barrier_init(&listed, NULL, THREADS + 1) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(long)i) == 0);
	pthread_barrier_wait(&begun);
	CHECK(list(&known) == THREADS + 1 && known == THREADS);
	CHECK(pthread_setname_np(pthread_self(), "first") == 0);
	check_folder("/proc/self", getpid(), "first");
	check_folder("/proc/thread-self", getpid(), "first");
	pthread_barrier_wait(&listed);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	/* A thread can be joined shortly before its folder goes. */
	while (list(&known) != 1)
		CHECK(!simulated());
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", ids[0]);
	CHECK(access(path, R_OK) == -1 && errno == ENOENT);
	CHECK(stat("/proc/self/task/1/comm", &status) == -1 && errno == ENOENT);
	CHECK(readlink("/proc/self", target, sizeof(target) - 1) > 0 && atoi(target) == getpid());
	puts("files of threads are right");
	return 0;
}
