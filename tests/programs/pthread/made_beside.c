/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads read the time stamp counter, which traps in a simulation, while the main thread makes others: for their stacks glibc
 * allocates from an arena to which they free.
 */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <x86intrin.h>

enum { THREADS = 20, OBJECTS = 20000 };

static void *object[OBJECTS];
static atomic_int taken, is_over;

static void *work(void *argument)
{
	while (!is_over) {
		int mine = taken < OBJECTS ? taken++ : OBJECTS;
		unsigned long long end = __rdtsc() + 100;

		if (mine < OBJECTS)
			free(object[mine]);
		while (__rdtsc() < end)
			_mm_pause();
	}
	return argument;
}

int main(void)
{
	static pthread_t threads[THREADS];

	for (int i = 0; i < OBJECTS; i++)
		object[i] = malloc(2000);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	is_over = 1;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	puts("made");
	return 0;
}
