// SPDX-License-Identifier: MIT OR Apache-2.0
// pinned CPU...: a thread on each of these CPUs; they add to one counter by turns, and say where they are.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 200, MOST = 64 };

static atomic_int turn;
static int threads, cpus[MOST], seen[MOST];

static void *work(void *argument)
{
	int me = (int)(long)argument;
	cpu_set_t *set = CPU_ALLOC(4096);
	size_t bytes = CPU_ALLOC_SIZE(4096);

	CPU_ZERO_S(bytes, set);
	CPU_SET_S(cpus[me], bytes, set);
	if (pthread_setaffinity_np(pthread_self(), bytes, set))
		abort();
	CPU_FREE(set);
	for (int i = 0; i < TURNS; i++) {
		while (atomic_load(&turn) % threads != me)
			;
		atomic_fetch_add(&turn, 1);
	}
	seen[me] = sched_getcpu();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST];

	threads = argc - 1;
	for (int i = 0; i < threads; i++) {
		cpus[i] = atoi(argv[i + 1]);
		pthread_create(&thread[i], NULL, work, (void *)(long)i);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < threads; i++)
		printf("%d ", seen[i]);
	printf("turns %d\n", atomic_load(&turn));
	return 0;
}
