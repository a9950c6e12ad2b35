/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread sees its own atomic stores in its plain reads, and its plain stores behind them stand; others see a flag after
 * what was stored before it, also if the flag's own thread reads it plainly. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200 };

static long data, flag;
static _Alignas(64) long word;

static void check(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "own_stores: %s\n", what);
	exit(1);
}

static void *watch(void *unused)
{
	for (long round = 1; round <= ROUNDS; round++) {
		while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < round)
			;
		check(__atomic_load_n(&data, __ATOMIC_RELAXED) >= round, "a flag before what it is for");
	}
	return unused;
}

int main(void)
{
	pthread_t watcher;

	pthread_create(&watcher, NULL, watch, NULL);
	for (long round = 1; round <= ROUNDS; round++) {
		__atomic_store_n(&word, 2 * round, __ATOMIC_RELAXED);
		check(*(volatile long *)&word == 2 * round, "an own store is not seen");
		*(volatile long *)&word = 2 * round + 1;
		check(__atomic_load_n(&word, __ATOMIC_RELAXED) == 2 * round + 1, "an older store comes later");
		__atomic_store_n(&data, round, __ATOMIC_RELAXED);
		__atomic_store_n(&flag, round, __ATOMIC_RELEASE);
		check(*(volatile long *)&flag == round, "an own flag is not seen");
	}
	pthread_join(watcher, NULL);
	check(word == 2 * ROUNDS + 1, "the last store stands");
	return 0;
}
