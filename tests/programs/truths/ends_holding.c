// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that end while they hold robust mutexes, which others look at: ends_holding THREADS
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 64, LOCKS = 200 };

static pthread_mutex_t locks[LOCKS];

static void *hold(void *me)
{
	for (int i = 0; i < LOCKS; i++)
		if (pthread_mutex_lock(&locks[i]) == EOWNERDEAD)
			pthread_mutex_consistent(&locks[i]);
	return me;
}

int main(int count, char **arguments)
{
	pthread_t threads[MOST];
	int most = count > 1 ? atoi(arguments[1]) : 1;
	pthread_mutexattr_t robust;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], &robust);
	for (int i = 0; i < most; i++)
		pthread_create(&threads[i], NULL, hold, NULL);
	for (int i = 0; i < most; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
