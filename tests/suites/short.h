/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Included before each source of a test suite: programs that run for so many seconds run for as many tenths of a
 * millisecond of virtual time. Their arguments count whole seconds, which is hours of simulation at 32 CPUs.
 */
#ifndef COREFOLD_SHORT_H
#define COREFOLD_SHORT_H
#include <unistd.h>

static inline unsigned short_sleep(unsigned seconds)
{
	usleep(seconds * 100);
	return 0;
}
#define sleep short_sleep
#endif
