/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *try_it(void *mutex)
{
	int code = pthread_mutex_trylock(mutex);

	if (code == 0)
		pthread_mutex_unlock(mutex);
	return (void *)(intptr_t)code;
}

static void *unlock_it(void *mutex)
{
	return (void *)(intptr_t)pthread_mutex_unlock(mutex);
}

static void *timed_it(void *mutex)
{
	struct timespec until = from_now(CLOCK_REALTIME, 10);
	int code = pthread_mutex_timedlock(mutex, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_REALTIME, until));
}

static void *past_it(void *mutex)
{
	struct timespec past = {1, 0};

	return (void *)(intptr_t)pthread_mutex_timedlock(mutex, &past);
}

static void *invalid_it(void *mutex)
{
	return (void *)(intptr_t)pthread_mutex_timedlock(mutex, &no_time);
}

static void *clock_it(void *mutex)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, 10);
	int code = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until));
}

static void *count(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&plain);
		counter++;
		pthread_mutex_unlock(&plain);
	}
	return unused;
}

static void *hold_and_end(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void make(pthread_mutex_t *mutex, int type, int robust, int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setprioceiling(&attr, 10);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void types(void)
{
	pthread_mutex_t checking, recursive;

	make(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	make(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	SAYS("pthread_mutex_unlock 4 pthread_mutexattr_settype 3", "a free error-checking mutex is not ours", pthread_mutex_unlock(&checking) == EPERM);
	pthread_mutex_lock(&checking);
	SAYS("pthread_mutex_lock 3 pthread_mutexattr_settype 3", "an error-checking mutex tells of a second lock", pthread_mutex_lock(&checking) == EDEADLK);
	struct timespec until = from_now(CLOCK_REALTIME, 10);
	SAYS("pthread_mutex_timedlock 5", "so it does with a time", pthread_mutex_timedlock(&checking, &until) == EDEADLK);
	SAYS("pthread_mutex_unlock 4 pthread_mutexattr_settype 3", "another's error-checking mutex is not ours", elsewhere(unlock_it, &checking) == EPERM);
	pthread_mutex_unlock(&checking);
	SAYS("pthread_mutex_lock 4", "a recursive mutex can be locked again", !pthread_mutex_lock(&recursive) && !pthread_mutex_lock(&recursive));
	SAYS("pthread_mutex_trylock 2", "and tried again by its owner", pthread_mutex_trylock(&recursive) == 0);
	pthread_mutex_unlock(&recursive);
	pthread_mutex_unlock(&recursive);
	SAYS("pthread_mutex_unlock", "a recursive mutex is held until the last unlock", elsewhere(try_it, &recursive) == EBUSY);
	pthread_mutex_unlock(&recursive);
	SAYS("pthread_mutex_unlock 1", "then it is free", elsewhere(try_it, &recursive) == 0);
	SAYS("pthread_mutex_unlock 5", "one too many is an error", pthread_mutex_unlock(&recursive) == EPERM);
}

static void robust(void)
{
	pthread_mutex_t mutex;

	make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	elsewhere(hold_and_end, &mutex);
	SAYS("pthread_mutex_lock", "a robust mutex tells of its owner's end", pthread_mutex_lock(&mutex) == EOWNERDEAD);
	SAYS("pthread_mutex_consistent", "makes it usable again", pthread_mutex_consistent(&mutex) == 0);
	SAYS("pthread_mutex_consistent", "is an error when it is already", pthread_mutex_consistent(&mutex) == EINVAL);
	pthread_mutex_unlock(&mutex);
	SAYS("pthread_mutex_lock", "a consistent one is like new", pthread_mutex_lock(&mutex) == 0);
	pthread_mutex_unlock(&mutex);
	elsewhere(hold_and_end, &mutex);
	SAYS("pthread_mutex_trylock", "tells of its owner's end too", pthread_mutex_trylock(&mutex) == EOWNERDEAD);
	pthread_mutex_unlock(&mutex);
	SAYS("pthread_mutex_unlock", "without consistency it is of no use any more", pthread_mutex_lock(&mutex) == ENOTRECOVERABLE);
	SAYS("pthread_mutex_trylock", "nor can it be tried", pthread_mutex_trylock(&mutex) == ENOTRECOVERABLE);
	SAYS("pthread_mutex_destroy", "but it can be destroyed", pthread_mutex_destroy(&mutex) == 0);
	pthread_mutex_t other;
	pthread_mutex_init(&other, NULL);
	SAYS("pthread_mutex_consistent", "is for robust mutexes only", pthread_mutex_consistent(&other) == EINVAL);
	make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	elsewhere(hold_and_end, &mutex);
	struct timespec until = from_now(CLOCK_REALTIME, 1000);
	SAYS("pthread_mutex_timedlock", "tells of the owner's end", pthread_mutex_timedlock(&mutex, &until) == EOWNERDEAD);
}

static void protocols(void)
{
	pthread_mutex_t inherit, protect;
	int ceiling = 0;

	make(&inherit, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	make(&protect, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT);
	SAYS("pthread_mutex_lock", "a mutex with priority inheritance can be locked", pthread_mutex_lock(&inherit) == 0);
	SAYS("pthread_mutex_trylock", "and is then held", elsewhere(try_it, &inherit) == EBUSY);
	SAYS("pthread_mutex_timedlock", "and not got in time", elsewhere(timed_it, &inherit));
	SAYS("pthread_mutex_unlock", "and can be let go", pthread_mutex_unlock(&inherit) == 0);
	SAYS("pthread_mutex_getprioceiling 1,2,5", "gives the ceiling", !pthread_mutex_getprioceiling(&protect, &ceiling) && ceiling == 10);
	SAYS("pthread_mutex_getprioceiling 3", "is for protected mutexes only", pthread_mutex_getprioceiling(&plain, &ceiling) == EINVAL);
	SAYS("pthread_mutex_setprioceiling 3,5", "is for protected mutexes only", pthread_mutex_setprioceiling(&plain, 10, &ceiling) == EINVAL);
	SAYS("pthread_mutex_setprioceiling 4", "refuses what is no priority", pthread_mutex_setprioceiling(&protect, 1000, &ceiling) == EINVAL);
}

static void attributes(void)
{
	pthread_mutexattr_t attr;
	int value = -1;

	SAYS("pthread_mutexattr_init 1,3", "succeeds", pthread_mutexattr_init(&attr) == 0);
	SAYS("pthread_mutexattr_gettype 1,2", "is default at first", !pthread_mutexattr_gettype(&attr, &value) && value == PTHREAD_MUTEX_DEFAULT);
	SAYS("pthread_mutexattr_settype 1,6", "is kept", !pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) && !pthread_mutexattr_gettype(&attr, &value) && value == PTHREAD_MUTEX_RECURSIVE);
	SAYS("pthread_mutexattr_settype 7", "refuses what is no type", pthread_mutexattr_settype(&attr, 99) == EINVAL);
	SAYS("pthread_mutexattr_getpshared 1,2", "is private at first", !pthread_mutexattr_getpshared(&attr, &value) && value == PTHREAD_PROCESS_PRIVATE);
	SAYS("pthread_mutexattr_setpshared 1,2", "is kept", !pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) && !pthread_mutexattr_getpshared(&attr, &value) && value == PTHREAD_PROCESS_SHARED);
	SAYS("pthread_mutexattr_setpshared 3", "refuses what is neither", pthread_mutexattr_setpshared(&attr, 7) == EINVAL);
	SAYS("pthread_mutexattr_getprotocol 1,2", "is none at first", !pthread_mutexattr_getprotocol(&attr, &value) && value == PTHREAD_PRIO_NONE);
	SAYS("pthread_mutexattr_setprotocol 1,2", "is kept", !pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) && !pthread_mutexattr_getprotocol(&attr, &value) && value == PTHREAD_PRIO_INHERIT);
	SAYS("pthread_mutexattr_setprioceiling 1,2 pthread_mutexattr_getprioceiling 1,2", "is kept", !pthread_mutexattr_setprioceiling(&attr, 5) && !pthread_mutexattr_getprioceiling(&attr, &value) && value == 5);
	SAYS("pthread_mutexattr_getrobust", "is stalled at first", !pthread_mutexattr_getrobust(&attr, &value) && value == PTHREAD_MUTEX_STALLED);
	SAYS("pthread_mutexattr_setrobust", "is kept", !pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) && !pthread_mutexattr_getrobust(&attr, &value) && value == PTHREAD_MUTEX_ROBUST);
	SAYS("pthread_mutexattr_setrobust", "refuses what is neither", pthread_mutexattr_setrobust(&attr, 7) == EINVAL);
	pthread_mutex_t shared;
	SAYS("pthread_mutex_init 4", "takes attributes", pthread_mutex_init(&shared, &attr) == 0);
	SAYS("pthread_mutexattr_destroy 1,3 pthread_mutexattr_init 2", "leaves mutexes that were made with it", !pthread_mutexattr_destroy(&attr) && !pthread_mutex_lock(&shared) && !pthread_mutex_unlock(&shared));
}

int main(void)
{
	pthread_mutex_t made;
	pthread_t threads[4];

	SAYS("pthread_mutex_init 1,2,4 pthread_mutex_trylock 3", "without attributes, gives a free mutex", !pthread_mutex_init(&made, NULL) && !elsewhere(try_it, &made));
	SAYS("pthread_mutex_lock 2", "gets a free mutex", pthread_mutex_lock(&made) == 0);
	SAYS("pthread_mutex_trylock 1,4", "fails while another has it", elsewhere(try_it, &made) == EBUSY);
	SAYS("pthread_mutex_timedlock 1,2", "gives up at its time, not before", elsewhere(timed_it, &made));
	SAYS("pthread_mutex_timedlock 1", "gives up at once at a time that has passed", elsewhere(past_it, &made) == ETIMEDOUT);
	SAYS("pthread_mutex_timedlock 5", "refuses what is no time, if it has to wait", elsewhere(invalid_it, &made) == EINVAL);
	SAYS("pthread_mutex_clocklock", "gives up at its time on the clock named", elsewhere(clock_it, &made));
	SAYS("pthread_mutex_destroy 4", "refuses a mutex that is held", pthread_mutex_destroy(&made) == EBUSY);
	SAYS("pthread_mutex_unlock 1,3", "lets it go", !pthread_mutex_unlock(&made) && !elsewhere(try_it, &made));
	SAYS("pthread_mutex_timedlock 4", "does not look at the time if the mutex is free", pthread_mutex_timedlock(&made, &no_time) == 0);
	pthread_mutex_unlock(&made);
	SAYS("pthread_mutex_destroy 1,2,3,5", "succeeds on a free one, which can be made again", !pthread_mutex_destroy(&made) && !pthread_mutex_init(&made, NULL));
	for (int i = 0; i < 4; i++)
		threads[i] = begin(count, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SAYS("pthread_mutex_lock 1 pthread_mutex_unlock 2 pthread_mutex_init 3", "lets one in at a time", counter == 4000);
	types();
	robust();
	protocols();
	attributes();
	return 0;
}
