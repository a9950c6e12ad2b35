// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that cannot be created leaves nothing behind: the next one gets the stack that it would have got. Keys that
// nobody made are refused.
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { TIMES = 100 };

static void *work(void *unused)
{
	char local;

	(void)unused;
	return (void *)((uintptr_t)&local >> 12);
}

static void *page_of_a_stack(void)
{
	pthread_t thread;
	void *page;

	CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
	CHECK(pthread_join(thread, &page) == 0);
	return page;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *before = page_of_a_stack();

	// More than there is address space.
	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, (size_t)1 << 50) == 0);
	for (int i = 0; i < TIMES; i++)
		CHECK(pthread_create(&thread, &attr, work, NULL) == EAGAIN);
	CHECK(page_of_a_stack() == before);

	// A key that nobody made has no value.
	CHECK(pthread_getspecific((pthread_key_t)-1) == NULL);
	CHECK(pthread_setspecific((pthread_key_t)-1, before) == EINVAL);
	CHECK(pthread_key_delete((pthread_key_t)-1) == EINVAL);
	puts("ok");
	return 0;
}
