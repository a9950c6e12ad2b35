// SPDX-License-Identifier: MIT OR Apache-2.0
// split OFFSET HOW: two threads add to a word at that offset in a line; prints the picoseconds of an addition by one.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Not more: a host may delay each of them by milliseconds.
enum { TIMES = 100 };

static _Alignas(256) char lines[256];
static uint64_t *word;
static void (*add)(void);

static void add_by_builtin(void)
{
	__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

static void add_by_assembly(void)
{
	__asm__ volatile("lock addq $1, %0" : "+m"(*word) : : "memory", "cc");
}

static void store(void)
{
	__atomic_store_n(word, *word + 1, __ATOMIC_SEQ_CST);
}

static void *work(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		add();
	return unused;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int how = argc > 2 ? argv[2][0] : 'b';

	word = (uint64_t *)(lines + atoi(argv[1]));
	add = how == 's' ? store : how == 'a' ? add_by_assembly : add_by_builtin;
	add();
	long from = now();

	work(NULL);
	printf("%ld\n", (now() - from) * 1000 / TIMES);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return how == 's' || *word == 3 * TIMES + 1 ? 0 : 1;
}
