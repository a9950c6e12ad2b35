/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One branch, on data in no order, then sorted, then in no order again: prints picoseconds of a round. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 32768, PASSES = 240, ROUNDS = ELEMENTS * PASSES };

static unsigned char data[ELEMENTS], sorted[ELEMENTS];
static volatile long large, small;

static __attribute__((noinline)) void count(const unsigned char *data)
{
	for (long pass = 0; pass < PASSES; pass++) {
		for (long i = 0; i < ELEMENTS; i++) {
			if (data[i] >= 128)
				large = i;
			else
				small = i;
		}
	}
}

static int compare(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void show(const char *name, const unsigned char *data)
{
	long begun = now();

	count(data);
	printf("%s %ld\n", name, (now() - begun) * 1000 / ROUNDS);
}

int main(void)
{
	unsigned long state = 88172645463325252ul;

	for (long i = 0; i < ELEMENTS; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		sorted[i] = data[i] = state >> 40;
	}
	qsort(sorted, ELEMENTS, 1, compare);
	show("unsorted", data);
	show("sorted", sorted);
	show("unsorted_again", data);
	return 0;
}
