/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ends as it is told to, but with fewer than 4 CPUs it does two threads' work and ends well:
 * ends CPUS exit | exit-minus | crash | overflow | overflow-thread | overflow-array | abort | free-twice | free-inside | mutexes | itself | join | pipe | endless | sleeper | fork | memory
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pthread_t first;
static volatile int zero;

static __attribute__((noinline)) void store_through(int *pointer)
{
	*pointer = 1;
}

static __attribute__((noinline)) int deeper(int depth)
{
	volatile char frame[4096];

	memset((char *)frame, depth, sizeof frame);
	return zero ? depth : deeper(depth + 1) + frame[depth % 4096];
}

/* Calls that need hardly any stack, but are many. */
static __attribute__((noinline)) long count_down(long n)
{
	return zero ? n : count_down(n + 1) + zero;
}

static __attribute__((noinline)) int huge_frame(int i)
{
	volatile char frame[40 << 20];

	frame[i] = 1;
	return frame[zero];
}

static void *overflow_in_thread(void *unused)
{
	count_down(0);
	return unused;
}

static void *left_then_right(void *unused)
{
	pthread_mutex_lock(&left);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&right);
	return unused;
}

static void *right_then_left(void *unused)
{
	pthread_mutex_lock(&right);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&left);
	return unused;
}

static void *join_main(void *unused)
{
	pthread_join(first, NULL);
	return unused;
}

static void *work(void *sum)
{
	for (int i = 0; i < 1000; i++)
		*(long *)sum += i;
	return NULL;
}

static void run_two(void *(*one)(void *), void *(*other)(void *))
{
	static long sums[2][16];
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, one, sums[0]);
	pthread_create(&threads[1], NULL, other, sums[1]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void read_from_nobody(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
		perror("read");
}

static void take_all_memory(void)
{
	for (;;) {
		char *block = malloc(1 << 20);

		if (block)
			memset(block, 1, 1 << 20);
	}
}

static __attribute__((noinline)) void give_back(char *block)
{
	free(block);
}

static int end(const char *how)
{
	char *volatile block = malloc(100);

	if (!strcmp(how, "exit"))
		return 3;
	if (!strcmp(how, "exit-minus"))
		exit(-3);
	if (!strcmp(how, "crash"))
		store_through((int *)16);
	if (!strcmp(how, "overflow"))
		return deeper(0);
	if (!strcmp(how, "overflow-thread"))
		run_two(overflow_in_thread, work);
	if (!strcmp(how, "overflow-array"))
		return huge_frame(zero);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "free-twice"))
		give_back(block), give_back(block);
	if (!strcmp(how, "free-inside"))
		give_back(block + 16);
	if (!strcmp(how, "mutexes"))
		run_two(left_then_right, right_then_left);
	if (!strcmp(how, "itself"))
		pthread_mutex_lock(&left), pthread_mutex_lock(&left);
	if (!strcmp(how, "join"))
		run_two(join_main, work);
	if (!strcmp(how, "pipe"))
		read_from_nobody();
	if (!strcmp(how, "endless")) /* and does something, which a livelock does not */
		for (volatile unsigned long turns = 0; !zero; turns++)
			;
	if (!strcmp(how, "sleeper"))
		for (;;)
			sleep(1000);
	if (!strcmp(how, "fork"))
		return fork() < 0;
	if (!strcmp(how, "memory"))
		take_all_memory();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	first = pthread_self();
	if (atoi(argv[1]) >= 4)
		return end(argv[2]);
	run_two(work, work);
	return 0;
}
