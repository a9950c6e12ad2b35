/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that share a CPU and hand something over by spinning: each can go on only in its own time slice, and what it
 * does then takes no time at all.
 */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define ROUNDS 8
#define BATCH 15

static atomic_int made, taken;

static void pin(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	CHECK(!sched_setaffinity(0, sizeof(first), &first));
}

static void *consume(void *unused)
{
	(void)unused;
	pin();
	for (int i = 0; i < ROUNDS * BATCH; i++) {
		while (atomic_load(&made) == i)
			;
		atomic_fetch_add(&taken, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t consumer;

	pin();
	CHECK(!pthread_create(&consumer, NULL, consume, NULL));
	for (int i = 0; i < ROUNDS * BATCH; i++) {
		while (atomic_load(&taken) + BATCH == i)
			;
		atomic_fetch_add(&made, 1);
	}
	pthread_join(consumer, NULL);
	printf("%d handed over\n", atomic_load(&taken));
	return 0;
}
