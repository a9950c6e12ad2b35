/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* herd THREADS HOW: threads that wait for jobs; who brings one wakes all of them (broadcast) or one (signal). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 400, MOST = 128 };

static _Alignas(64) pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_cond_t have = PTHREAD_COND_INITIALIZER;
static int jobs, done;

static void busy(int cycles)
{
	for (int i = 0; i < cycles; i++)
		__asm__ volatile("");
}

static int take(void)
{
	int job;

	pthread_mutex_lock(&lock);
	while (!jobs && !done)
		pthread_cond_wait(&have, &lock);
	job = jobs > 0;
	jobs -= job;
	pthread_mutex_unlock(&lock);
	return job;
}

static void *work(void *argument)
{
	while (take())
		busy(100000);
	return argument;
}

int main(int count, char **arguments)
{
	pthread_t thread[MOST];
	int threads, all;

	if (count < 3)
		return 2;
	threads = atoi(arguments[1]);
	all = !strcmp(arguments[2], "broadcast");
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < JOBS; i++) {
		busy(100000 / threads);
		pthread_mutex_lock(&lock);
		jobs++;
		(all ? pthread_cond_broadcast : pthread_cond_signal)(&have);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_broadcast(&have);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
