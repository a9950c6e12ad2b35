/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals that come just as a thread's wait is over, and while it waits for a spinlock. */
#define _GNU_SOURCE
#include "check.h"

static volatile sig_atomic_t caught;
static volatile int over, may_release;
static pthread_spinlock_t lock;

static void count(int signal)
{
	(void)signal;
	caught++;
}

static void *storm(void *target)
{
	while (!over) {
		pthread_kill(*(pthread_t *)target, SIGUSR2);
		usleep(100);
	}
	return NULL;
}

static void *nothing(void *argument) { return argument; }

/* The signal and the thread's end wake who joins it at about the same time, on one CPU too. */
static void joined_in_a_storm(void)
{
	pthread_t self = pthread_self(), thread, other;

	handle(SIGUSR2, count, SA_RESTART);
	CHECK(pthread_create(&thread, NULL, storm, &self) == 0);
	for (int i = 0; i < 2000 && (i < 200 || caught < 50); i++) {
		CHECK(pthread_create(&other, NULL, nothing, NULL) == 0);
		CHECK(pthread_join(other, NULL) == 0);
		usleep(i % 50);
	}
	over = 1;
	CHECK(pthread_join(thread, NULL) == 0 && caught >= 50);
}

static void release(int signal)
{
	(void)signal;
	may_release = 1;
}

static void *take(void *argument)
{
	CHECK(pthread_spin_lock(&lock) == 0 && may_release);
	pthread_spin_unlock(&lock);
	return argument;
}

/* The handler of the thread that waits is what lets it have the lock. */
static void handled_in_spin_lock(void)
{
	pthread_t thread;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&lock);
	handle(SIGUSR1, release, 0);
	CHECK(pthread_create(&thread, NULL, take, NULL) == 0);
	a_while();
	CHECK(!may_release && pthread_kill(thread, SIGUSR1) == 0);
	while (!may_release)
		usleep(10);
	pthread_spin_unlock(&lock);
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(void)
{
	joined_in_a_storm();
	handled_in_spin_lock();
	return 0;
}
