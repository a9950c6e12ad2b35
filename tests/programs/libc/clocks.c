/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks agree with each other and with sleeps, and only threads that run use CPU time. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define MS 1000000LL

static long long nanoseconds(clockid_t clock)
{
	struct timespec t;

	CHECK(clock_gettime(clock, &t) == 0);
	CHECK(t.tv_nsec >= 0 && t.tv_nsec < 1000 * MS);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void work(void)
{
	volatile long sink = 0;

	for (long i = 0; i < 3000000; i++)
		sink += i;
}

/* Two clocks that are read one after the other agree; on a busy host some time may pass between, but not each time. */
static int agree(long long (*a)(void), long long (*b)(void), long long most)
{
	for (int i = 0; i < 1000; i++)
		if (llabs(a() - b()) < most)
			return 1;
	return 0;
}

static long long wall_clock(void)
{
	return nanoseconds(CLOCK_REALTIME);
}

static long long day_clock(void)
{
	struct timeval day;

	CHECK(gettimeofday(&day, NULL) == 0);
	return day.tv_sec * 1000 * MS + day.tv_usec * 1000;
}

/* When the monotonic clock began, by the wall clock. */
static long long begin(void)
{
	return wall_clock() - nanoseconds(CLOCK_MONOTONIC);
}

static long long begun;

static long long first_begin(void)
{
	return begun;
}

static void clocks_agree(void)
{
	struct timeval day;
	struct timespec both;
	long long wall = nanoseconds(CLOCK_REALTIME), then = nanoseconds(CLOCK_MONOTONIC);

	CHECK(gettimeofday(&day, NULL) == 0);
	CHECK(agree(day_clock, wall_clock, 10 * MS));
	/* Linux has it from the last timer tick, at most 10 ms ago. */
	CHECK(time(NULL) >= (wall - 10 * MS) / (1000 * MS));
	CHECK(timespec_get(&both, TIME_UTC) == TIME_UTC && both.tv_sec - day.tv_sec >= 0);
	/* Time that passes between its two clocks makes it seem earlier. */
	begun = begin();
	for (int i = 0; i < 20; i++) {
		long long again = begin();

		begun = again > begun ? again : begun;
	}
	CHECK(wall > 1700000000LL * 1000 * MS);
	unsigned long long tick = __rdtsc();
	work();
	CHECK(__rdtsc() > tick);
	long long passed = nanoseconds(CLOCK_MONOTONIC) - then;
	CHECK(passed > 0);
	CHECK(agree(begin, first_begin, 100 * MS));
	CHECK(clock_getres(CLOCK_MONOTONIC, &both) == 0 && both.tv_sec == 0);
	errno = 0;
	CHECK(clock_gettime(12345, &both) == -1 && errno == EINVAL);
}

/* What counts from the boot is past its first seconds: programs add to it and compare without looking. */
static void the_machine_has_been_up(void)
{
	struct tms tms;

	CHECK(nanoseconds(CLOCK_MONOTONIC) > 2000 * MS);
	CHECK(nanoseconds(CLOCK_MONOTONIC_RAW) > 2000 * MS);
	CHECK(nanoseconds(CLOCK_BOOTTIME) > 2000 * MS);
	CHECK(times(&tms) > 2 * sysconf(_SC_CLK_TCK));
	CHECK(__rdtsc() > 1000000000);
}

static void sleeps_last(void)
{
	struct timespec ten = { 0, 10 * MS }, bad = { 0, 1000 * MS }, left = { 7, 7 };
	long long then = nanoseconds(CLOCK_MONOTONIC), used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);

	CHECK(nanosleep(&ten, &left) == 0);
	CHECK(nanoseconds(CLOCK_MONOTONIC) - then >= 10 * MS);
	usleep(2000);
	CHECK(nanoseconds(CLOCK_MONOTONIC) - then >= 12 * MS);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ten, NULL) == 0);
	CHECK(nanoseconds(CLOCK_MONOTONIC) - then >= 22 * MS);
	struct timespec until;
	CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
	long long wall = nanoseconds(CLOCK_REALTIME) + 1000 * MS;
	until.tv_sec += 1;
	CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
	CHECK(nanoseconds(CLOCK_REALTIME) >= wall - 1 * MS);
	/* What is past is not waited for, and not for as long as it lasted to get there; a busy host may add to it. */
	CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
	CHECK(nanosleep(&bad, NULL) == -1 && errno == EINVAL);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL);
	CHECK(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used < 20 * MS);
}

static void *worker(void *unused)
{
	(void)unused;
	long long used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	work();
	for (int i = 0; i < 10; i++)
		sched_yield();
	used = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used;
	CHECK(used > 0);
	return NULL;
}

static void cpu_time_adds_up(void)
{
	pthread_t threads[4];
	struct rusage usage;
	struct tms tms;
	long long before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), mine = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	clockid_t clock_of_me;

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	long long all = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before;
	mine = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - mine;
	CHECK(mine < all / 2);
	CHECK(pthread_getcpuclockid(pthread_self(), &clock_of_me) == 0);
	CHECK(llabs(nanoseconds(clock_of_me) - nanoseconds(CLOCK_THREAD_CPUTIME_ID)) < 5 * MS);
	CHECK(clock() > 0 && getrusage(RUSAGE_SELF, &usage) == 0);
	/* Linux divides what was used by the ticks that it saw: all of it may count as the kernel's. */
	CHECK(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec > 0 || usage.ru_utime.tv_usec + usage.ru_stime.tv_usec > 0);
	CHECK(times(&tms) >= 0);
}

int main(void)
{
	clocks_agree();
	the_machine_has_been_up();
	sleeps_last();
	cpu_time_adds_up();
	puts("clocks are right");
	return 0;
}
