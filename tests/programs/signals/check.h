/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that checks itself: the first check that fails ends it, and says which. */
#ifndef CHECK_H
#define CHECK_H
#include "../actions.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                          \
	do {                                                                                          \
		if (!(condition)) {                                                                       \
			fprintf(stderr, "%s:%d: %s is false (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
			_Exit(1);                                                                             \
		}                                                                                         \
	} while (0)

/* Calls that return -1 and set errno. */
#define FAILS(code, call)                                                                         \
	do {                                                                                          \
		errno = 0;                                                                                \
		CHECK((call) == -1);                                                                      \
		CHECK(errno == (code));                                                                   \
	} while (0)

static inline void handle(int number, void (*handler)(int), int flags) { CHECK(set_handler(number, handler, flags, 0) == 0); }

static inline void block(int how, int one, int other) { CHECK(change_mask(how, one, other) == 0); }

/* Long enough for another thread to come to where it waits, natively too. */
static inline void a_while(void) { usleep(20000); }

#endif
