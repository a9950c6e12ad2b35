// SPDX-License-Identifier: MIT OR Apache-2.0
/* Three threads, three locks; each takes its own and then the next one's. FIXED: the lower number first. */
#include "threads.h"

enum { THREADS = 3, TIMES = 4 };

static pthread_mutex_t locks[THREADS] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER
};
static int shared[THREADS];

static void *work(void *arg)
{
	int mine = (int)(long)arg, next = (mine + 1) % THREADS, i;
#ifdef FIXED
	int first = mine < next ? mine : next, second = mine < next ? next : mine;
#else
	int first = mine, second = next;
#endif

	for (i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&locks[first]);
		pthread_mutex_lock(&locks[second]);
		shared[mine]++;
		shared[next]++;
		pthread_mutex_unlock(&locks[second]);
		pthread_mutex_unlock(&locks[first]);
	}
	return arg;
}

int main(void)
{
	run_threads(THREADS, work);
	require(shared[0] == 2 * TIMES && shared[1] == 2 * TIMES && shared[2] == 2 * TIMES, "updates were lost");
	return 0;
}
