// SPDX-License-Identifier: MIT OR Apache-2.0
// Thread-local storage that takes most of a thread's stack, or more: glibc makes the stack larger.
#include "check.h"
#include <pthread.h>
#include <stdint.h>

#ifndef MEGABYTES
#define MEGABYTES 12
#endif

enum { BYTES = MEGABYTES << 20, THREADS = 3 };

static _Thread_local unsigned char storage[BYTES];

static void *work(void *argument)
{
	uintptr_t me = (uintptr_t)argument, sum = 0;

	for (long at = 0; at < BYTES; at += 1 << 18)
		storage[at] = (unsigned char)me;
	storage[BYTES - 1] = (unsigned char)me;
	for (long at = 0; at < BYTES; at += 1 << 18)
		sum += storage[at];
	return (void *)(sum + storage[BYTES - 1]);
}

int main(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		void *sum;

		CHECK(pthread_join(threads[i], &sum) == 0);
		CHECK((uintptr_t)sum == (i + 1) * (BYTES / (1 << 18) + 1));
	}
	puts("ok");
	return 0;
}
