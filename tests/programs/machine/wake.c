/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints the nanoseconds of a call that wakes a thread. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word;

static void *sleeper(void *unused)
{
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return unused;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(void)
{
	pthread_t thread;
	long begun, woken;

	pthread_create(&thread, NULL, sleeper, NULL);
	usleep(1000);
	begun = now();
	woken = syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	printf("%ld %ld\n", woken, now() - begun);
	return pthread_join(thread, NULL);
}
