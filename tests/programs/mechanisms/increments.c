// SPDX-License-Identifier: MIT OR Apache-2.0
// Two threads each increment a word of one line, without atomics; prints the picoseconds of an increment.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { TIMES = 200000 };
static _Alignas(128) volatile long count[2];
static pthread_barrier_t begin;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *increment(void *own)
{
	volatile long *word = own;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < TIMES; i++)
		++*word;
	return NULL;
}

int main(void)
{
	pthread_t other;
	long from;

	pthread_barrier_init(&begin, NULL, 2);
	pthread_create(&other, NULL, increment, (void *)&count[1]);
	from = now();
	increment((void *)&count[0]);
	pthread_join(other, NULL);
	printf("%ld\n", (now() - from) * 1000 / TIMES);
	return 0;
}
