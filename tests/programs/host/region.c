// SPDX-License-Identifier: MIT OR Apache-2.0
// Work in libc before, inside or behind the region of interest.
#include <corefold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What libc formats and reads back takes no time in the simulation but a fixed cost.
static double in_libc(void)
{
	double sum = 0;
	char text[400];
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof text, "%.300f", i / 7.0);
		sum += strtod(text, 0);
	}
	return sum;
}

/// Work that is seen.
static unsigned computed(void)
{
	unsigned x = 1;
	for (int i = 0; i < 300000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

int main(void)
{
	double sum = 0;
	unsigned x = 0;
#ifdef BEFORE
	sum += in_libc();
#endif
	COREFOLD_BEGIN();
	x += computed();
#ifdef INSIDE
	sum += in_libc();
#endif
	COREFOLD_END();
#ifdef BEHIND
	sum += in_libc();
#endif
	printf("%u %.3f\n", x, sum);
}
