// SPDX-License-Identifier: MIT OR Apache-2.0
// woken HOME BUSY...: where a thread goes whose CPU, and others, run other threads when it is woken.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t ready, go;
static atomic_int over;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = cpu < 0 ? 0 : cpu; i <= (cpu < 0 ? CPU_SETSIZE - 1 : cpu); i++)
		CPU_SET(i, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set))
		abort();
}

static void *sleeps(void *argument)
{
	run_on(*(int *)argument);
	run_on(-1);
	sem_post(&ready);
	sem_wait(&go);
	*(int *)argument = sched_getcpu();
	return NULL;
}

static void *computes(void *argument)
{
	run_on(*(int *)argument);
	sem_post(&ready);
	while (!atomic_load(&over))
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[argc];
	int cpus[argc];

	for (int i = 1; i < argc; i++) {
		cpus[i] = atoi(argv[i]);
		pthread_create(&threads[i], NULL, i == 1 ? sleeps : computes, &cpus[i]);
		sem_wait(&ready);
		usleep(100);
	}
	sem_post(&go);
	pthread_join(threads[1], NULL);
	printf("%d\n", cpus[1]);
	atomic_store(&over, 1);
	for (int i = 2; i < argc; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
