/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * More threads than CPUs, that sleep, wait with a time-out, talk through a pipe and print where their
 * objects lie: sleepers CPUS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turns, ends[2];

static void wait_a_while(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec = (until.tv_nsec + 50000) % 1000000000;
	until.tv_sec += until.tv_nsec < 50000;
	pthread_cond_timedwait(&turned, &mutex, &until);
}

static void *sleeper(void *number)
{
	long me = (long)number;

	for (int round = 0; round < ROUNDS; round++) {
		char *block = malloc((size_t)(100 * me + round));
		struct timespec nap = { 0, 1000 * (me % 7 + 1) };

		block[0] = (char)me;
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&mutex);
		if (++turns % 3 == 0)
			pthread_cond_signal(&turned);
		else
			wait_a_while();
		pthread_mutex_unlock(&mutex);
		if (write(ends[1], &block, sizeof block) != sizeof block)
			exit(3);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? 2 * atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)count, sizeof *threads);
	struct timespec now;

	if (!count || pipe(ends))
		return 2;
	for (long i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, sleeper, (void *)i);
	for (int i = 0; i < count * ROUNDS; i++) {
		char *block;

		if (read(ends[0], &block, sizeof block) != sizeof block)
			return 5;
		printf("%p %d\n", (void *)block, block[0]);
		free(block);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%p %p %ld.%09ld\n", (void *)&now, (void *)main, (long)now.tv_sec, now.tv_nsec);
	return 0;
}
