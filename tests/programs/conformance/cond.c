/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, woken, allowed;

static void *wait_for_leave(void *unused)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	while (allowed == 0)
		pthread_cond_wait(&cond, &mutex);
	allowed--;
	woken++;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static int read_it(int *variable)
{
	pthread_mutex_lock(&mutex);
	int value = *variable;
	pthread_mutex_unlock(&mutex);
	return value;
}

static void allow(int how_many)
{
	pthread_mutex_lock(&mutex);
	allowed += how_many;
	pthread_mutex_unlock(&mutex);
}

static void await_all(int *variable, int value)
{
	while (read_it(variable) < value)
		usleep(1000);
}

static void *is_held(void *unused)
{
	int code = pthread_mutex_trylock(&mutex);

	(void)unused;
	return (void *)(intptr_t)(code == EBUSY);
}

static void *take_later(void *unused)
{
	pthread_mutex_lock(&mutex);
	allowed = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void times(void)
{
	pthread_condattr_t attr;
	pthread_cond_t monotonic;
	clockid_t clock = -1;

	pthread_mutex_lock(&mutex);
	struct timespec until = from_now(CLOCK_REALTIME, 10), past = {1, 0};
	SAYS("pthread_cond_timedwait 2,4", "gives up at its time", pthread_cond_timedwait(&cond, &mutex, &until) == ETIMEDOUT && has_come(CLOCK_REALTIME, until));
	SAYS("pthread_cond_timedwait 1", "has the mutex then", elsewhere(is_held, NULL));
	SAYS("pthread_cond_timedwait 2", "gives up at once at a time that has passed", pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT);
	SAYS("pthread_cond_timedwait 4", "refuses what is no time", pthread_cond_timedwait(&cond, &mutex, &no_time) == EINVAL);
	SAYS("pthread_cond_timedwait 1", "has the mutex after that too", elsewhere(is_held, NULL));
	until = from_now(CLOCK_MONOTONIC, 10);
	SAYS("pthread_cond_clockwait", "gives up at its time on the clock named", pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until));
	SAYS("pthread_condattr_init 1,3", "succeeds", pthread_condattr_init(&attr) == 0);
	SAYS("pthread_condattr_getclock 1,2", "is the wall clock at first", !pthread_condattr_getclock(&attr, &clock) && clock == CLOCK_REALTIME);
	SAYS("pthread_condattr_setclock 1,2", "is kept", !pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) && !pthread_condattr_getclock(&attr, &clock) && clock == CLOCK_MONOTONIC);
	SAYS("pthread_condattr_setclock 1,2", "refuses a clock of CPU time", pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID) == EINVAL);
	SAYS("pthread_cond_init 1,3", "takes attributes", pthread_cond_init(&monotonic, &attr) == 0);
	until = from_now(CLOCK_MONOTONIC, 10);
	SAYS("pthread_cond_timedwait", "goes by the clock of the attributes", pthread_cond_timedwait(&monotonic, &mutex, &until) == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until));
	pthread_t thread = begin(take_later, NULL);
	until = from_now(CLOCK_REALTIME, 60000);
	int code = 0;
	allowed = 0;
	while (allowed == 0 && code == 0)
		code = pthread_cond_timedwait(&cond, &mutex, &until);
	SAYS("pthread_cond_timedwait 3", "returns 0 when it is signalled in time", code == 0);
	allowed = 0;
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	int shared = -1;
	SAYS("pthread_condattr_getpshared 1,2,3", "is private at first", !pthread_condattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_PRIVATE);
	SAYS("pthread_condattr_setpshared 1,2", "is kept", !pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) && !pthread_condattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_SHARED);
	SAYS("pthread_condattr_setpshared 2", "refuses what is neither", pthread_condattr_setpshared(&attr, 7) == EINVAL);
	SAYS("pthread_condattr_destroy 1,3 pthread_condattr_init 2", "leaves conditions that were made with it", !pthread_condattr_destroy(&attr) && !pthread_cond_signal(&monotonic));
	SAYS("pthread_cond_destroy 2,3", "succeeds where nobody waits", pthread_cond_destroy(&monotonic) == 0);
}

int main(void)
{
	pthread_t threads[4];

	SAYS("pthread_cond_signal 3,4", "without a waiter, does nothing", pthread_cond_signal(&cond) == 0);
	SAYS("pthread_cond_broadcast 3,4", "without a waiter, does nothing", pthread_cond_broadcast(&cond) == 0);
	for (int i = 0; i < 4; i++)
		threads[i] = begin(wait_for_leave, NULL);
	await_all(&waiting, 4);
	SAYS("pthread_cond_wait 1", "lets the mutex go while it waits", read_it(&woken) == 0);
	allow(1);
	SAYS("pthread_cond_signal 4", "succeeds", pthread_cond_signal(&cond) == 0);
	await_all(&woken, 1);
	settle();
	SAYS("pthread_cond_signal 1", "lets at least one go on, and no more than may", read_it(&woken) == 1);
	allow(3);
	SAYS("pthread_cond_broadcast 4", "succeeds", pthread_cond_broadcast(&cond) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SAYS("pthread_cond_broadcast 1 pthread_cond_init 2", "lets all go on", woken == 4);
	times();
	SAYS("pthread_cond_init 1,3 pthread_cond_destroy 1", "without attributes, makes one again", !pthread_cond_destroy(&cond) && !pthread_cond_init(&cond, NULL));
	return 0;
}
