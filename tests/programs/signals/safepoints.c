/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* As a garbage collector stops its threads: each reads a page now and then, which is protected, and waits in its handler. */
#define _GNU_SOURCE
#include "check.h"
#include <stdatomic.h>
#include <sys/mman.h>

enum { THREADS = 3, STOPS = 20, PAGE = 4096 };

static volatile int *page;
static atomic_int stopped, went_on, done;

static void stop(int signal)
{
	int before = atomic_load(&went_on);

	(void)signal;
	atomic_fetch_add(&stopped, 1);
	while (atomic_load(&went_on) == before)
		sched_yield();
}

static void *work(void *argument)
{
	long sum = 0;

	while (!atomic_load(&done)) {
		sum += *page;
		for (volatile int i = 0; i < 50; i++)
			;
	}
	CHECK(sum == 0);
	return argument;
}

int main(void)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_NODEFER };
	pthread_t threads[THREADS];

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < STOPS; i++) {
		for (volatile int k = 0; k < 3000; k++)
			;
		atomic_store(&stopped, 0);
		CHECK(mprotect((void *)page, PAGE, PROT_NONE) == 0);
		while (atomic_load(&stopped) < THREADS)
			sched_yield();
		CHECK(mprotect((void *)page, PAGE, PROT_READ) == 0);
		atomic_fetch_add(&went_on, 1);
	}
	atomic_store(&done, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("threads stop at safepoints");
	return 0;
}
