/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that checks itself: the first check that fails ends it, and says which. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,         \
				#condition);                                       \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

/* Is the program simulated? Then what it sees of time and of the machine is the simulated machine's. */
static inline int simulated(void)
{
	return getenv("COREFOLD_LAUNCH") != NULL;
}

#endif
