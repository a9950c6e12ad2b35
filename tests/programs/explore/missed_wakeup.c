// SPDX-License-Identifier: MIT OR Apache-2.0
/* A thread waits for a flag, another sets it. The flag is looked at outside of the lock, so that the
 * wake-up can come before the wait. FIXED looks and sets under the lock. */
#include "threads.h"

#include <stdatomic.h>

enum { TIMES = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int produced, consumed;

static void wait_for(atomic_int *count, int least)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
	while (atomic_load(count) < least)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
#else
	while (atomic_load(count) < least) {
		pthread_mutex_lock(&lock);
		pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
#endif
}

static void increase(atomic_int *count)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
	atomic_fetch_add(count, 1);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
#else
	atomic_fetch_add(count, 1);
	pthread_cond_broadcast(&changed);
#endif
}

static void *take_part(void *arg)
{
	int i;

	for (i = 1; i <= TIMES; i++) {
		if ((long)arg == 0) {
			increase(&produced);
		} else {
			wait_for(&produced, i);
			increase(&consumed);
		}
	}
	return arg;
}

int main(void)
{
	run_threads(2, take_part);
	require(consumed == TIMES, "not all was consumed");
	return 0;
}
