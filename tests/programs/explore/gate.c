/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * All threads of a team wait for the same condition variable, first for the start, and one of them for
 * the end: a waiter that is still on its way out when the next one comes must not take its wake-up.
 */
#include <pthread.h>
#include <stdio.h>

enum { TEAM = 6, ROUNDS = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, started, done;

static void *member(void *unused)
{
	pthread_mutex_lock(&mutex);
	if (++ready == TEAM)
		pthread_cond_broadcast(&changed);
	while (!started)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&mutex);
	if (++done == TEAM)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t team[TEAM];

		ready = started = done = 0;
		for (int i = 0; i < TEAM; i++)
			pthread_create(&team[i], NULL, member, NULL);
		pthread_mutex_lock(&mutex);
		while (ready < TEAM)
			pthread_cond_wait(&changed, &mutex);
		started = 1;
		pthread_cond_broadcast(&changed);
		while (done < TEAM)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < TEAM; i++)
			pthread_join(team[i], NULL);
	}
	puts("ended");
}
