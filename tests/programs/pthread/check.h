/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A check that a program makes of itself: what failed, where, and an exit code that says so. */
#ifndef CHECK_H
#define CHECK_H
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                               \
		if (!(condition)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                                   \
			_Exit(1);                                                                                                  \
		}                                                                                                              \
	} while (0)

/* Calls that return 0 or an error. */
#define RETURNS(code, call)                                                                                            \
	do {                                                                                                               \
		int got_ = (call);                                                                                             \
		if (got_ != (code)) {                                                                                          \
			fprintf(stderr, "%s:%d: %s gave %d (%s), not %s\n", __FILE__, __LINE__, #call, got_, strerror(got_),       \
					#code);                                                                                            \
			_Exit(1);                                                                                                  \
		}                                                                                                              \
	} while (0)

/* Calls that return -1 and set errno. */
#define FAILS(code, call)                                                                                              \
	do {                                                                                                               \
		errno = 0;                                                                                                     \
		CHECK((call) == -1);                                                                                           \
		CHECK(errno == (code));                                                                                        \
	} while (0)

#endif
