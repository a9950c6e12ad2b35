/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of the process's memory are kept and told, and leave a program that needs little alone. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *allocates(void *unused)
{
	char *block = malloc(1 << 20);

	(void)unused;
	CHECK(block);
	memset(block, 1, 1 << 20);
	free(block);
	return NULL;
}

static void limited(int resource, rlim_t bytes)
{
	struct rlimit old, limit, told;

	CHECK(getrlimit(resource, &old) == 0);
	limit = old;
	limit.rlim_cur = bytes;
	CHECK(setrlimit(resource, &limit) == 0);
	CHECK(getrlimit(resource, &told) == 0 && told.rlim_cur == bytes && told.rlim_max == old.rlim_max);
	CHECK(prlimit(getpid(), resource, NULL, &told) == 0 && told.rlim_cur == bytes);
	CHECK(syscall(SYS_prlimit64, 0, resource, NULL, &told) == 0 && told.rlim_cur == bytes);
	limit.rlim_max = bytes - 1;
	CHECK(setrlimit(resource, &limit) == -1 && errno == EINVAL);
}

int main(void)
{
	pthread_t threads[8];
	struct rlimit limit;

	/* Not simulated, the hooks' tables count. */
	limited(RLIMIT_AS, (rlim_t)1 << (simulated() ? 31 : 46));
	limited(RLIMIT_DATA, (rlim_t)1 << (simulated() ? 31 : 46));
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, allocates, NULL) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	limited(RLIMIT_STACK, (rlim_t)1 << 20);
	/* Lowered for good. */
	CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_max = limit.rlim_cur;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	if (geteuid() || simulated()) {
		limit.rlim_max++;
		CHECK(setrlimit(RLIMIT_AS, &limit) == -1 && errno == EPERM);
	}
	/* Not simulated, it would lock the hooks' tables. */
	if (simulated())
		CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0 && munlockall() == 0);
	return 0;
}
