/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Equal threads that begin together: thread 0 is the main thread, so that thread i runs on CPU i and
 * no CPU has two. The region of interest begins when all are there, and ends when all are done.
 */
#ifndef TEAM_H
#define TEAM_H

#include <corefold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define TEAM_MOST 1024

static struct {
	_Alignas(64) atomic_int here;
	_Alignas(64) atomic_int go;
	void (*work)(int thread);
} team;

static void *team_thread(void *thread)
{
	atomic_fetch_add(&team.here, 1);
	while (!atomic_load(&team.go))
		__builtin_ia32_pause();
	team.work((int)(long)thread);
	return NULL;
}

/* Runs work(0) to work(threads - 1) at once. */
static void team_run(int threads, void (*work)(int thread))
{
	static pthread_t others[TEAM_MOST];

	if (threads < 1 || threads > TEAM_MOST)
		exit(2);
	team.work = work;
	for (long i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, team_thread, (void *)i))
			exit(3);
	while (atomic_load(&team.here) < threads - 1)
		__builtin_ia32_pause();
	COREFOLD_BEGIN();
	atomic_store(&team.go, 1);
	work(0);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	COREFOLD_END();
}

#endif
