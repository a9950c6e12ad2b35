/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>

static void *wait_for_it(void *sem)
{
	return (void *)(intptr_t)sem_wait(sem);
}

static void *post_later(void *sem)
{
	usleep(1000);
	return (void *)(intptr_t)sem_post(sem);
}

static int value_of(sem_t *sem)
{
	int value = -1;

	sem_getvalue(sem, &value);
	return value;
}

static void named(void)
{
	char name[64];

	snprintf(name, sizeof name, "/conformance-%d", (int)getpid());
	sem_unlink(name);
	SAYS("sem_open 6", "finds none that was not made", (errno = 0, sem_open(name, 0)) == SEM_FAILED && errno == ENOENT);
	sem_t *sem = sem_open(name, O_CREAT, 0600, 1);
	SAYS("sem_open 1,11", "makes one with its value", sem != SEM_FAILED && value_of(sem) == 1);
	SAYS("sem_open 2,4", "with O_EXCL, refuses one that is there", (errno = 0, sem_open(name, O_CREAT | O_EXCL, 0600, 1)) == SEM_FAILED && errno == EEXIST);
	sem_t *again = sem_open(name, 0);
	SAYS("sem_open 15", "gives the same one again", again == sem);
	SAYS("sem_open 5,12", "refuses a value that is too large", (errno = 0, sem_open("/conformance-x", O_CREAT, 0600, (unsigned)INT_MAX + 1)) == SEM_FAILED && errno == EINVAL);
	SAYS("sem_wait 1 sem_open 8,9", "takes from a named one", !sem_wait(sem) && value_of(again) == 0);
	pthread_t thread = begin(post_later, again);
	SAYS("sem_wait 3,13", "waits for a named one", sem_wait(sem) == 0);
	pthread_join(thread, NULL);
	SAYS("sem_close 1", "succeeds", sem_close(again) == 0);
	SAYS("sem_unlink 1,2,7,8", "succeeds, and it can still be used", !sem_unlink(name) && !sem_post(sem) && value_of(sem) == 1);
	SAYS("sem_unlink 4,8", "finds none after that", FAILS(ENOENT, sem_unlink(name)));
	SAYS("sem_close", "succeeds for the last too", sem_close(sem) == 0);
}

int main(void)
{
	sem_t sem;

	SAYS("sem_init 1,2", "gives the value", !sem_init(&sem, 0, 2) && value_of(&sem) == 2);
	SAYS("sem_wait 1,9", "takes one", !sem_wait(&sem) && value_of(&sem) == 1);
	SAYS("sem_trywait sem_wait 9,11", "takes one", !sem_trywait(&sem) && value_of(&sem) == 0);
	SAYS("sem_trywait sem_wait 5,9,12", "fails where there is none", FAILS(EAGAIN, sem_trywait(&sem)));
	struct timespec until = from_now(CLOCK_REALTIME, 10), past = {1, 0};
	SAYS("sem_timedwait 2,3,7,10", "gives up at its time", FAILS(ETIMEDOUT, sem_timedwait(&sem, &until)) && has_come(CLOCK_REALTIME, until));
	SAYS("sem_timedwait 3", "gives up at once at a time that has passed", FAILS(ETIMEDOUT, sem_timedwait(&sem, &past)));
	SAYS("sem_timedwait 6", "refuses what is no time, if it has to wait", FAILS(EINVAL, sem_timedwait(&sem, &no_time)));
	until = from_now(CLOCK_MONOTONIC, 10);
	SAYS("sem_clockwait", "gives up at its time on the clock named", FAILS(ETIMEDOUT, sem_clockwait(&sem, CLOCK_MONOTONIC, &until)) && has_come(CLOCK_MONOTONIC, until));
	SAYS("sem_post 1,2,4", "adds one", !sem_post(&sem) && value_of(&sem) == 1);
	until = from_now(CLOCK_REALTIME, 1000);
	SAYS("sem_timedwait 1,4", "takes one at once if there is one", !sem_timedwait(&sem, &until) && value_of(&sem) == 0);
	pthread_t thread = begin(wait_for_it, &sem);
	settle();
	SAYS("sem_getvalue 2", "is 0 while somebody waits", value_of(&sem) == 0);
	void *code = NULL;
	sem_post(&sem);
	pthread_join(thread, &code);
	SAYS("sem_post 1 sem_init 4", "lets who waits go on, who takes it", code == NULL && value_of(&sem) == 0);
	SAYS("sem_destroy 1,3,4", "succeeds", sem_destroy(&sem) == 0);
	SAYS("sem_init 5,6", "refuses a value that is too large", FAILS(EINVAL, sem_init(&sem, 0, (unsigned)INT_MAX + 1)));
	sem_init(&sem, 0, INT_MAX);
	SAYS("sem_post", "refuses to go above the largest value", FAILS(EOVERFLOW, sem_post(&sem)));
	SAYS("sem_init", "takes one that is shared between processes", !sem_init(&sem, 1, 1) && !sem_wait(&sem) && !sem_post(&sem));
	named();
	return 0;
}
