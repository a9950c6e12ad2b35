// SPDX-License-Identifier: MIT OR Apache-2.0
/* Starting and joining a few threads; a wrong result ends the program with status 1. */
#ifndef THREADS_H
#define THREADS_H
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static inline void run_threads(int count, void *(*body)(void *))
{
	pthread_t threads[16];
	long i;

	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)i) != 0)
			abort();
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static inline void require(int right, const char *what)
{
	if (!right) {
		printf("wrong: %s\n", what);
		fflush(stdout);
		_Exit(1);
	}
}
#endif
