// SPDX-License-Identifier: MIT OR Apache-2.0
// pairs MORE: two pairs of threads pass a line to and fro, each its own; the second so many times more. Prints when each
// turn of the first came to pass, in nanoseconds.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 400 };

static struct {
	_Alignas(256) atomic_int turn;
	int turns;
} lines[2];
static _Alignas(256) long when[TURNS + 1];
static _Alignas(256) atomic_int ready;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void begin(void)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 4)
		;
}

static void *first(void *argument)
{
	begin();
	for (int i = (int)(long)argument; i < TURNS; i += 2) {
		while (atomic_load(&lines[0].turn) != i)
			;
		when[i] = now();
		atomic_store(&lines[0].turn, i + 1);
	}
	return NULL;
}

// Code of its own: what a branch costs is learnt from all threads that run it.
static void *second(void *argument)
{
	begin();
	for (int i = (int)(long)argument; i < lines[1].turns; i += 2) {
		while (atomic_load(&lines[1].turn) != i)
			;
		atomic_store(&lines[1].turn, i + 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];
	int more = argc > 1 ? atoi(argv[1]) : 0;

	lines[1].turns = TURNS / 4 + more;
	for (long i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, i < 2 ? first : second, (void *)(i % 2));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i < TURNS; i++)
		printf("%ld ", when[i] - when[0]);
	printf("\n");
	return 0;
}
