// SPDX-License-Identifier: MIT OR Apache-2.0
// The store buffer's litmus test, for `corefold explore`, and natively on two CPUs: two threads each store a word, fence by cf_cpu_fence, and look at
// what the other stored. One of them at least must see the other's store, also without restartable sequences.
//   fence ROUNDS [atomics]
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_cpu.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	uint32_t word CF_LINE_ALIGNED;
} stored[2];
static uint32_t seen[2];
static uint32_t rounds, arrived;

static void meet(uint32_t target)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
	for (unsigned looks = 1; __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < target; looks++)
		if (looks % 1024 == 0)
			sched_yield();
}

// The id-th CPU that this process may use: on one CPU the threads would never meet.
static void pin(int id)
{
	cpu_set_t all, one;
	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && id-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(0, sizeof one, &one);
}

static void *thread(void *argument)
{
	int id = argument != NULL;
	pin(id);
	for (uint32_t i = 1; i <= rounds; i++) {
		meet(4 * i - 2);
		__atomic_store_n(&stored[id].word, i, __ATOMIC_RELAXED);
		if (cf_cpu_fence(-1))
			exit(2);
		seen[id] = __atomic_load_n(&stored[!id].word, __ATOMIC_RELAXED);
		meet(4 * i);
		if (id == 0 && seen[0] < i && seen[1] < i) {
			fprintf(stderr, "fence: in round %u neither saw the other's store\n", i);
			exit(1);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	rounds = argc > 1 ? (uint32_t)atol(argv[1]) : 100;
	if (argc > 2 && cf_cpu_use_atomics())
		return 2;
	if (pthread_create(&other, NULL, thread, &rounds))
		return 2;
	thread(NULL);
	pthread_join(other, NULL);
	return 0;
}
