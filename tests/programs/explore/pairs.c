/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A barrier that more threads use than a round has: any two that come go on. */
#include "threads.h"
#include <stdatomic.h>

enum { THREADS = 6, COUNT = 2, WAITS = 60 };
static pthread_barrier_t barrier;
static atomic_int taken, told;

/* The number of waits is even, so that nobody is left alone. */
static void *wait_for_another(void *argument)
{
	while (atomic_fetch_add(&taken, 1) < WAITS)
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&told, 1);
	return argument;
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, COUNT);
	run_threads(THREADS, wait_for_another);
	require(told == WAITS / COUNT, "one of each two is told");
	pthread_barrier_destroy(&barrier);
	return 0;
}
