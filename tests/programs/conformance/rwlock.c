/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"

static void *try_read(void *lock)
{
	int code = pthread_rwlock_tryrdlock(lock);

	if (code == 0)
		pthread_rwlock_unlock(lock);
	return (void *)(intptr_t)code;
}

static void *try_write(void *lock)
{
	int code = pthread_rwlock_trywrlock(lock);

	if (code == 0)
		pthread_rwlock_unlock(lock);
	return (void *)(intptr_t)code;
}

static void *timed_read(void *lock)
{
	struct timespec until = from_now(CLOCK_REALTIME, 10);
	int code = pthread_rwlock_timedrdlock(lock, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_REALTIME, until));
}

static void *timed_write(void *lock)
{
	struct timespec until = from_now(CLOCK_REALTIME, 10);
	int code = pthread_rwlock_timedwrlock(lock, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_REALTIME, until));
}

static void *clock_write(void *lock)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, 10);
	int code = pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until));
}

static void *clock_read(void *lock)
{
	struct timespec until = from_now(CLOCK_MONOTONIC, 10);
	int code = pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until);

	return (void *)(intptr_t)(code == ETIMEDOUT && has_come(CLOCK_MONOTONIC, until));
}

static void *no_read(void *lock)
{
	return (void *)(intptr_t)pthread_rwlock_timedrdlock(lock, &no_time);
}

static void *no_write(void *lock)
{
	return (void *)(intptr_t)pthread_rwlock_timedwrlock(lock, &no_time);
}

static long written;
static pthread_rwlock_t counted = PTHREAD_RWLOCK_INITIALIZER;

static void *write_often(void *unused)
{
	for (int i = 0; i < 500; i++) {
		pthread_rwlock_wrlock(&counted);
		written++;
		pthread_rwlock_unlock(&counted);
		pthread_rwlock_rdlock(&counted);
		pthread_rwlock_unlock(&counted);
	}
	return unused;
}

static void *write_once(void *lock)
{
	pthread_rwlock_wrlock(lock);
	pthread_rwlock_unlock(lock);
	return NULL;
}

static void preferences(void)
{
	pthread_rwlockattr_t attr;
	pthread_rwlock_t lock;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&lock, &attr);
	pthread_rwlock_rdlock(&lock);
	pthread_t writer = begin(write_once, &lock);
	while (elsewhere(try_read, &lock) == 0)
		usleep(1000);
	SAYS("pthread_rwlockattr_setkind_np", "with writers preferred, a reader waits for a writer that waits", elsewhere(timed_read, &lock));
	pthread_rwlock_unlock(&lock);
	pthread_join(writer, NULL);
	SAYS("pthread_rwlock_unlock 3", "lets the writer go on, then readers", elsewhere(try_read, &lock) == 0);
}

int main(void)
{
	pthread_rwlock_t lock;
	pthread_rwlockattr_t attr;
	pthread_t threads[4];
	int shared = -1;

	SAYS("pthread_rwlock_init 1,2,4", "gives a free lock", !pthread_rwlock_init(&lock, NULL) && !elsewhere(try_write, &lock));
	SAYS("pthread_rwlock_rdlock 1,6", "gets a free lock", pthread_rwlock_rdlock(&lock) == 0);
	SAYS("pthread_rwlock_rdlock 5", "can be had twice by one thread", pthread_rwlock_rdlock(&lock) == 0);
	SAYS("pthread_rwlock_tryrdlock 1,2", "shares it with other readers", elsewhere(try_read, &lock) == 0);
	SAYS("pthread_rwlock_trywrlock 1,3", "fails while readers have it", elsewhere(try_write, &lock) == EBUSY);
	SAYS("pthread_rwlock_timedwrlock 1,2,3,7", "gives up at its time", elsewhere(timed_write, &lock));
	SAYS("pthread_rwlock_timedwrlock", "refuses what is no time", elsewhere(no_write, &lock) == EINVAL);
	SAYS("pthread_rwlock_clockwrlock", "gives up at its time on the clock named", elsewhere(clock_write, &lock));
	pthread_rwlock_unlock(&lock);
	SAYS("pthread_rwlock_unlock 1", "keeps it while another of its locks is left", elsewhere(try_write, &lock) == EBUSY);
	pthread_rwlock_unlock(&lock);
	SAYS("pthread_rwlock_unlock 1 pthread_rwlock_trywrlock 2", "lets it go after the last", elsewhere(try_write, &lock) == 0);
	SAYS("pthread_rwlock_wrlock 1,3", "gets a free lock", pthread_rwlock_wrlock(&lock) == 0);
	SAYS("pthread_rwlock_wrlock 3", "tells of a second lock by its owner", pthread_rwlock_wrlock(&lock) == EDEADLK);
	SAYS("pthread_rwlock_rdlock", "tells of a read by the writer", pthread_rwlock_rdlock(&lock) == EDEADLK);
	SAYS("pthread_rwlock_tryrdlock 3", "fails while a writer has it", elsewhere(try_read, &lock) == EBUSY);
	SAYS("pthread_rwlock_trywrlock 3", "fails while a writer has it", elsewhere(try_write, &lock) == EBUSY);
	SAYS("pthread_rwlock_timedrdlock 1,2,3,7", "gives up at its time", elsewhere(timed_read, &lock));
	SAYS("pthread_rwlock_timedrdlock", "refuses what is no time", elsewhere(no_read, &lock) == EINVAL);
	SAYS("pthread_rwlock_clockrdlock", "gives up at its time on the clock named", elsewhere(clock_read, &lock));
	SAYS("pthread_rwlock_unlock 2,4", "of the writer lets it go", !pthread_rwlock_unlock(&lock) && !elsewhere(try_read, &lock));
	SAYS("pthread_rwlock_destroy 1,2", "succeeds, and it can be made again", !pthread_rwlock_destroy(&lock) && !pthread_rwlock_init(&lock, NULL));
	for (int i = 0; i < 4; i++)
		threads[i] = begin(write_often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SAYS("pthread_rwlock_wrlock 1 pthread_rwlock_init 3", "lets one writer in at a time", written == 2000);
	SAYS("pthread_rwlockattr_init 1,3", "succeeds", pthread_rwlockattr_init(&attr) == 0);
	SAYS("pthread_rwlockattr_getpshared 1,4,5", "is private at first", !pthread_rwlockattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_PRIVATE);
	SAYS("pthread_rwlockattr_setpshared 1,2", "is kept", !pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) && !pthread_rwlockattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_SHARED);
	SAYS("pthread_rwlockattr_setpshared 3", "refuses what is neither", pthread_rwlockattr_setpshared(&attr, 7) == EINVAL);
	SAYS("pthread_rwlockattr_destroy 1,3", "succeeds", pthread_rwlockattr_destroy(&attr) == 0);
	preferences();
	return 0;
}
