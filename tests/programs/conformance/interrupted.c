/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals that come while a thread waits: which waits go on, which end. */
#define _GNU_SOURCE
#include "handlers.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static volatile int ready, done, code, may_go;

static int wait_cond(void)
{
	int got = 0;

	pthread_mutex_lock(&other);
	while (!may_go && got == 0)
		got = pthread_cond_wait(&cond, &other);
	pthread_mutex_unlock(&other);
	return got;
}

static int timedwait_cond(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 60000);
	int got = 0;

	pthread_mutex_lock(&other);
	while (!may_go && got == 0)
		got = pthread_cond_timedwait(&cond, &other, &until);
	pthread_mutex_unlock(&other);
	return got;
}

static int lock_mutex(void) { return pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex); }

static int timedlock_mutex(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 60000);

	return pthread_mutex_timedlock(&mutex, &until) || pthread_mutex_unlock(&mutex);
}

static int read_lock(void) { return pthread_rwlock_rdlock(&lock) || pthread_rwlock_unlock(&lock); }

static int write_lock(void) { return pthread_rwlock_wrlock(&lock) || pthread_rwlock_unlock(&lock); }

static int timed_read(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 60000);

	return pthread_rwlock_timedrdlock(&lock, &until) || pthread_rwlock_unlock(&lock);
}

static int timed_write(void)
{
	struct timespec until = from_now(CLOCK_REALTIME, 60000);

	return pthread_rwlock_timedwrlock(&lock, &until) || pthread_rwlock_unlock(&lock);
}

static int meet(void)
{
	int got = pthread_barrier_wait(&barrier);

	return got != 0 && got != PTHREAD_BARRIER_SERIAL_THREAD;
}

static void *wait_by(void *call)
{
	ready = 1;
	code = (*(int (**)(void))call)();
	done = 1;
	return NULL;
}

/* Is the wait taken up again after a handler, until `let_go`? */
static int goes_on(int (*call)(void), void (*let_go)(void))
{
	ready = done = may_go = 0;
	code = -1;
	handle(SIGUSR1, count, 0, 0);
	pthread_t thread = begin(wait_by, &call);
	while (!ready)
		usleep(1000);
	usleep(10000);
	pthread_kill(thread, SIGUSR1);
	for (int i = 0; i < 1000 && !caught; i++)
		usleep(1000);
	usleep(5000);
	int waits = caught == 1 && !done;
	let_go();
	pthread_join(thread, NULL);
	return waits && code == 0;
}

static void release(void)
{
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_unlock(&lock);
}

static void hold(void)
{
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&lock);
}

static void release_and_hold(void)
{
	release();
	while (!done)
		usleep(1000);
	hold();
}

static void signal_cond(void)
{
	pthread_mutex_lock(&other);
	may_go = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&other);
}

static void arrive(void) { pthread_barrier_wait(&barrier); }

static void waits(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	hold();
	SAYS("pthread_mutex_lock 3,5", "goes on after a handler", goes_on(lock_mutex, release_and_hold));
	SAYS("pthread_mutex_timedlock 5", "goes on after a handler", goes_on(timedlock_mutex, release_and_hold));
	SAYS("pthread_rwlock_rdlock 4,6", "goes on after a handler", goes_on(read_lock, release_and_hold));
	SAYS("pthread_rwlock_wrlock 2,3", "goes on after a handler", goes_on(write_lock, release_and_hold));
	SAYS("pthread_rwlock_timedrdlock 6,7", "goes on after a handler", goes_on(timed_read, release_and_hold));
	SAYS("pthread_rwlock_timedwrlock 6,7", "goes on after a handler", goes_on(timed_write, release_and_hold));
	release();
	SAYS("pthread_barrier_wait 3,6", "goes on after a handler", goes_on(meet, arrive));
	SAYS("pthread_cond_wait 4", "is not ended by a handler", goes_on(wait_cond, signal_cond));
	SAYS("pthread_cond_timedwait 4", "is not ended by a handler", goes_on(timedwait_cond, signal_cond));
}

static void *signal_later(void *thread)
{
	usleep(10000);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

static void post(int signal)
{
	(void)signal;
	sem_post(&sem);
}

static void *post_twice(void *thread)
{
	usleep(10000);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	usleep(10000);
	sem_post(&sem);
	return NULL;
}

static void semaphores(void)
{
	pthread_t self = pthread_self(), thread;
	struct timespec until = from_now(CLOCK_REALTIME, 60000);

	sem_init(&sem, 0, 0);
	handle(SIGUSR1, count, 0, 0);
	thread = begin(signal_later, &self);
	SAYS("sem_wait 7,9,13", "is ended by a handler", FAILS(EINTR, sem_wait(&sem)) && caught == 1);
	pthread_join(thread, NULL);
	thread = begin(signal_later, &self);
	SAYS("sem_timedwait 4,9", "is ended by a handler", FAILS(EINTR, sem_timedwait(&sem, &until)) && caught == 2);
	pthread_join(thread, NULL);
	handle(SIGUSR1, count, SA_RESTART, 0);
	thread = begin(post_twice, &self);
	SAYS("sigaction 16", "with SA_RESTART, calls go on", sem_wait(&sem) == 0 && caught == 1);
	pthread_join(thread, NULL);
	handle(SIGUSR1, count, 0, 0);
	thread = begin(signal_later, &self);
	struct timespec ten = {10, 0};
	SAYS("sigaction 17", "without it, they end", FAILS(EINTR, nanosleep(&ten, NULL)));
	pthread_join(thread, NULL);
	handle(SIGUSR1, post, SA_RESTART, 0);
	int value = -1;
	SAYS("sem_post 6", "can be called by a handler", !raise(SIGUSR1) && !sem_getvalue(&sem, &value) && value == 1);
	sem_wait(&sem);
}

int main(void)
{
	waits();
	semaphores();
	return 0;
}
