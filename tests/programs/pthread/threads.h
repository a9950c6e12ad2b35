/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting and joining a number of threads that do the same. */
#ifndef THREADS_H
#define THREADS_H
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { MOST_THREADS = 128 };

/* `argv[1]`, or `otherwise`. */
static inline int thread_count(int argc, char **argv, int otherwise) {
	int n = argc > 1 ? atoi(argv[1]) : otherwise;
	CHECK(n > 0 && n <= MOST_THREADS);
	return n;
}

/* Runs `body` in `n` threads, each with its number, and waits for them all. */
static inline void in_threads(int n, void *(*body)(void *)) {
	pthread_t threads[MOST_THREADS];
	for (int i = 0; i < n; i++)
		RETURNS(0, pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i));
	for (int i = 0; i < n; i++)
		RETURNS(0, pthread_join(threads[i], NULL));
}

/* A time on `clock` so many nanoseconds from now. */
static inline struct timespec from_now(clockid_t clock, long nanoseconds) {
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += nanoseconds % 1000000000L;
	t.tv_sec += nanoseconds / 1000000000L + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	return t;
}

/* Has `t` come on `clock`? */
static inline int has_come(clockid_t clock, struct timespec t) {
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec > t.tv_sec || (now.tv_sec == t.tv_sec && now.tv_nsec >= t.tv_nsec);
}

#endif
