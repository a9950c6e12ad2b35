// SPDX-License-Identifier: MIT OR Apache-2.0
// sibling CPU: picoseconds of a round of some work on CPU 0, while another thread computes on that CPU.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 4000 };

// Apart, so that the two threads share no line.
static _Alignas(256) atomic_int begun;
static _Alignas(256) atomic_int over;
static _Alignas(256) volatile long sum;
static _Alignas(256) char from[256];
static char to[256];
static void *volatile block;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set))
		abort();
}

static void *compute(void *argument)
{
	run_on(*(int *)argument);
	atomic_store(&begun, 1);
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			sum += i;
	return NULL;
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void blocks(void)
{
	static volatile long mine;

	for (int i = 0; i < 50; i++)
		mine += i;
}

static void copies(void)
{
	memcpy(to, from, (size_t)block & 1 ? sizeof to - 1 : sizeof to);
}

static void allocates(void)
{
	block = malloc(40);
	free(block);
}

static void locks(void)
{
	static _Alignas(256) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void calls(void)
{
	sched_yield();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} works[] = {{"blocks", blocks}, {"copies", copies}, {"allocates", allocates}, {"locks", locks}, {"calls", calls}};
	int other = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	run_on(0);
	pthread_create(&thread, NULL, compute, &other);
	while (!atomic_load(&begun))
		;
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		works[i].run();
		long from = now();

		for (int round = 0; round < ROUNDS; round++)
			works[i].run();
		printf("%s %ld\n", works[i].name, (now() - from) * 1000 / ROUNDS);
	}
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	return 0;
}
