/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is given back right after an atomic store to it, while another CPU keeps taking its line: the store is
 * over before the memory is anybody else's, or moves with the object. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 20, BYTES = 64, PAGE = 4096 };

static long *watched;
static long done;

/* Keeps the line that is watched away from whoever writes to it. */
static void *take_away(void *unused)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		long *word = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);

		/* An allocator keeps its own in the first two words. */
		if (word)
			__atomic_fetch_add(&word[2], 0, __ATOMIC_RELAXED);
		sched_yield();
	}
	return unused;
}

static void watch(long *word)
{
	__atomic_store_n(&watched, word, __ATOMIC_RELEASE);
	usleep(2);
}

/* The line is still taken, but nobody changes it. */
static void settle(void)
{
	usleep(5);
}

static void freed(void)
{
	static const char text[] = "0123456";
	long *object = calloc(1, BYTES);
	char *next;

	watch(object);
	__atomic_store_n(object, -1, __ATOMIC_RELAXED);
	free(object);
	next = malloc(BYTES);
	/* libc's own stores are not seen. */
	CHECK(sprintf(next, "%s", text) == 7);
	settle();
	CHECK(!strcmp(next, text));
	watch(NULL);
	settle();
	free(next);
}

static void moved(void)
{
	long *object = calloc(1, BYTES), *next;

	watch(object);
	__atomic_store_n(object, 7, __ATOMIC_RELAXED);
	next = realloc(object, 10 * BYTES);
	watch(NULL);
	settle();
	CHECK(next[0] == 7);
	free(next);
}

static long *map(void)
{
	long *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	return page;
}

static void dropped(int unmaps)
{
	long *page = map();

	watch(page);
	__atomic_store_n(page, 9, __ATOMIC_RELAXED);
	if (unmaps) {
		page = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(page != MAP_FAILED);
	} else {
		CHECK(madvise(page, PAGE, MADV_DONTNEED) == 0);
	}
	settle();
	CHECK(page[0] == 0);
	watch(NULL);
	/* It stays: natively the other threads may not have seen yet that it is watched no more. */
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, take_away, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		freed();
		moved();
		dropped(0);
		dropped(1);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("reused");
	return 0;
}
