/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls made through syscall(): those that block let the other threads go on, time is of one piece. */
#define _GNU_SOURCE
#include "threads.h"
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2];

static void *write_later(void *arg)
{
	struct timespec a_while = {0, 1000000};
	CHECK(syscall(SYS_nanosleep, &a_while, NULL) == 0);
	CHECK(syscall(SYS_write, ends[1], "x", 1) == 1);
	return arg;
}

static void *read_first(void *arg)
{
	char byte = 0;
	CHECK(syscall(SYS_read, ends[0], &byte, 1L) == 1 && byte == 'x');
	return arg;
}

static void *read_or_write(void *arg)
{
	return (intptr_t)arg ? write_later(arg) : read_first(arg);
}

static long long nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void time_is_one(void)
{
	struct timespec first, second, third;
	CHECK(clock_gettime(CLOCK_MONOTONIC, &first) == 0);
	CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &second) == 0);
	CHECK(clock_gettime(CLOCK_MONOTONIC, &third) == 0);
	CHECK(nanoseconds(first) <= nanoseconds(second) && nanoseconds(second) <= nanoseconds(third));
	CHECK(nanoseconds(third) - nanoseconds(first) < 1000000000);
}

int main(void)
{
	cpu_set_t set;
	unsigned cpu = 12345;
	char random[8] = {0};

	CHECK(syscall(SYS_pipe2, ends, 0) == 0);
	in_threads(2, read_or_write);
	puts("a read waits");
	time_is_one();
	puts("clocks agree");
	CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && cpu < 12345);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0 && CPU_ISSET(cpu, &set));
	CHECK(syscall(SYS_getrandom, random, sizeof random, 0) == sizeof random);
	CHECK(syscall(SYS_gettid) > 0 && syscall(SYS_getpid) == getpid());
	CHECK(syscall(SYS_sched_yield) == 0);
	FAILS(EBADF, syscall(SYS_read, -1, random, 1L));
	FAILS(ENOSYS, syscall(100000));
	puts("and others");
	return 0;
}
