/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A thread spins on a word that a second one writes now and then; a third computes and sleeps by turns on the other hardware
 * thread of the spinning one's core. Prints in which cycles the spinning thread has seen what.
 *
 * beside ROUNDS: on 8 CPUs of 4 cores
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Alignas(128) atomic_long word;
static _Alignas(128) volatile long beside;
static _Alignas(128) atomic_int over;
static long rounds;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

static long compute(long x, long steps)
{
	for (long i = 0; i < steps; i++)
		x = x * 3 + i;
	return x;
}

static void *write_now_and_then(void *unused)
{
	long x = 1;

	pin(1);
	for (long round = 1; round <= rounds; round++) {
		x = compute(x, 40000 + (round * 37 & 255));
		atomic_store(&word, round);
	}
	atomic_store(&over, (int)(x | 1));
	return unused;
}

static void *compute_and_sleep(void *unused)
{
	long x = 1;

	pin(4);
	for (long round = 1; !atomic_load(&over); round++) {
		x = compute(x, 10000 + (round * 53 & 511));
		beside = x;
		nanosleep(&(struct timespec){ .tv_nsec = 9000 + (round * 29 & 127) }, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t writer, sleeper;
	long hash = 0;

	rounds = argc > 1 ? atol(argv[1]) : 100;
	pin(0);
	pthread_create(&writer, NULL, write_now_and_then, NULL);
	pthread_create(&sleeper, NULL, compute_and_sleep, NULL);
	for (long round = 1; round <= rounds; round++) {
		/* A pause takes longer beside the other thread. */
		while (atomic_load_explicit(&word, memory_order_acquire) < round)
			__builtin_ia32_pause();
		hash = hash * 31 + (long)(__builtin_ia32_rdtsc() & 0xffffffff);
	}
	pthread_join(writer, NULL);
	pthread_join(sleeper, NULL);
	printf("%ld %lx\n", now(), hash);
	return 0;
}
