/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two streams, locked in both orders, but the second thread only tries: it does not wait, so nobody waits for ever. */
#include "threads.h"

enum { ROUNDS = 20 };
static FILE *one, *two;

static void *lock_both(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		flockfile(one);
		flockfile(two);
		funlockfile(two);
		funlockfile(one);
	}
	return argument;
}

static void *try_second(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		flockfile(two);
		if (ftrylockfile(one) == 0)
			funlockfile(one);
		funlockfile(two);
	}
	return argument;
}

static void *either(void *number)
{
	return (long)number & 1 ? try_second(number) : lock_both(number);
}

int main(void)
{
	one = fopen("/dev/null", "w");
	two = fopen("/dev/null", "w");
	run_threads(2, either);
	return 0;
}
