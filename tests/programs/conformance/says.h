/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the standard says of an interface, a line each, and whether it is so. The sentences are ours, made from what
 * POSIX and C11 require; `docs/conformance.md` counts them. */
#ifndef SAYS_H
#define SAYS_H
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAYS(interface, sentence, condition)                                                                           \
	printf("%s: %s: %s\n", interface, sentence, (condition) ? "ok" : "NO")

/* A call that returns -1 and sets errno. */
#define FAILS(code, call) (errno = 0, (call) == -1 && errno == (code))

static inline struct timespec from_now(clockid_t clock, long milliseconds)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += milliseconds / 1000;
	t.tv_nsec += milliseconds % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static inline int has_come(clockid_t clock, struct timespec t)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec > t.tv_sec || (now.tv_sec == t.tv_sec && now.tv_nsec >= t.tv_nsec);
}

/* What another thread gets from a call. */
static inline int elsewhere(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	void *value = NULL;

	if (pthread_create(&thread, NULL, body, argument) != 0)
		return -1;
	pthread_join(thread, &value);
	return (int)(intptr_t)value;
}

static inline pthread_t begin(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument) != 0)
		abort();
	return thread;
}

/* Gives others time to get as far as they can. */
static inline void settle(void)
{
	usleep(20000);
}

static const struct timespec no_time = {0, 1000000000};

#endif
