/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads, and not main alone, change the process's user and groups: to what they are. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 4

static pthread_barrier_t all;

static void *change(void *unused)
{
	uid_t user = getuid();
	gid_t group = getgid();

	pthread_barrier_wait(&all);
	for (int i = 0; i < 3; i++) {
		CHECK(setuid(user) == 0 && seteuid(user) == 0 && setreuid(-1, user) == 0);
		CHECK(setgid(group) == 0 && setegid(group) == 0 && setregid(-1, group) == 0);
		CHECK(setresuid(-1, user, -1) == 0 && setresgid(-1, group, -1) == 0);
	}
	errno = 0;
	CHECK(setgroups(1 << 20, &group) == -1 && (errno == EINVAL || errno == EPERM));
	pthread_barrier_wait(&all);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, change, NULL) == 0);
	change(NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("the same user");
	return 0;
}
