/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nice values: each thread has its own, from its creator, and reads back what was set. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int first;
static pid_t worker;
static pthread_barrier_t both;

static int mine(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

/* What a thread's file says of it. */
static int told(pid_t id)
{
	char path[64], text[512] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
	CHECK((file = fopen(path, "r")) && fgets(text, sizeof(text), file) && fclose(file) == 0);
	/* Behind the name is the third field; this one is the nineteenth. */
	at = strrchr(text, ')');
	for (int field = 2; field < 19; field++)
		CHECK((at = strchr(at + 1, ' ')));
	return atoi(at);
}

static void *work(void *unused)
{
	worker = gettid();
	CHECK(mine() == first + 1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	CHECK(mine() == first + 2 && nice(1) == first + 3 && mine() == first + 3);
	CHECK(syscall(SYS_getpriority, PRIO_PROCESS, 0) == 20 - (first + 3));
	CHECK(getpriority(PRIO_PROCESS, (id_t)getpid()) == first + 1 && told(worker) == first + 3);
	CHECK(getpriority(PRIO_PGRP, 0) <= first + 1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	CHECK(mine() == 19);
	return unused;
}

int main(void)
{
	pthread_t thread;

	first = mine();
	/* Without room for other values. */
	if (first > 15)
		goto end;
	CHECK(nice(1) == first + 1 && mine() == first + 1);
	CHECK(pthread_barrier_init(&both, NULL, 2) == 0 && pthread_create(&thread, NULL, work, NULL) == 0);
	pthread_barrier_wait(&both);
	CHECK(setpriority(PRIO_PROCESS, (id_t)worker, first + 2) == 0 && mine() == first + 1);
	CHECK(getpriority(PRIO_PROCESS, (id_t)worker) == first + 2 && told(getpid()) == first + 1);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	/* More than there is, for each thread of the process. */
	CHECK(setpriority(PRIO_PROCESS, 0, 100) == 0 && syscall(SYS_setpriority, PRIO_PROCESS, worker, 19) == 0);
	CHECK(mine() == 19 && nice(5) == 19);
	pthread_barrier_wait(&both);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(setpriority(99, 0, 0) == -1 && errno == EINVAL);
	CHECK(setpriority(PRIO_PROCESS, 1 << 21 | 1, 19) == -1 && errno == ESRCH);
end:
	puts("nice values are right");
	return 0;
}
