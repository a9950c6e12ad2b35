/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * rounds THREADS HOW: threads that meet after equal shares of work (even), or of which the second has three shares (late), or
 * twenty, and no thread meets another (apart).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 30, MOST = 128 };

static pthread_barrier_t met;
static int late, apart;

static void *work(void *argument)
{
	for (int round = 0; round < ROUNDS; round++) {
		int share = (long)argument != 1 ? 10000 : late ? 30000 : apart ? 200000 : 10000;

		for (int i = 0; i < share; i++)
			__asm__ volatile("");
		if (!apart)
			pthread_barrier_wait(&met);
	}
	return argument;
}

int main(int count, char **arguments)
{
	pthread_t thread[MOST];
	int threads = count > 1 ? atoi(arguments[1]) : 1;

	late = count > 2 && !strcmp(arguments[2], "late");
	apart = count > 2 && !strcmp(arguments[2], "apart");
	pthread_barrier_init(&met, NULL, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
