/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All ways of asking for the CPUs agree, and threads run where their affinity lets them. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

static int cpus;
static cpu_set_t all;
static volatile int go;

/* The n-th CPU of those that the program may run on, counted around. */
static int nth(int n)
{
	int count = CPU_COUNT(&all);

	n %= count;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && n-- == 0)
			return cpu;
	return -1;
}

static cpu_set_t only(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Both numbers of the restartable-sequence area, as programs read them inline; before the thread ever waited, too. */
static int numbers_in_area_are(int cpu)
{
	const volatile int *area;

	if (!&__rseq_size || !__rseq_size)
		return 1;
	area = (const volatile int *)((const char *)__builtin_thread_pointer() + __rseq_offset);
	return area[0] == cpu && area[1] == cpu;
}

static void counts_agree(void)
{
	cpu_set_t none, mine;
	unsigned cpu, node;

	cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	CHECK(cpus >= 1);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	CHECK(sysconf(_SC_NPROCESSORS_CONF) >= cpus && get_nprocs() == cpus);
	if (simulated())
		CHECK(CPU_COUNT(&all) == cpus && get_nprocs_conf() == cpus && numbers_in_area_are(0));
	CHECK(pthread_getaffinity_np(pthread_self(), sizeof(mine), &mine) == 0);
	CHECK(CPU_EQUAL(&mine, &all));
	CHECK(CPU_ISSET(sched_getcpu(), &all));
	CHECK(getcpu(&cpu, &node) == 0 && CPU_ISSET(cpu, &all) && node < 64);
	CHECK(gettid() == getpid());
	CPU_ZERO(&none);
	CHECK(sched_setaffinity(0, sizeof(none), &none) == -1 && errno == EINVAL);
	CHECK(pthread_setaffinity_np(pthread_self(), sizeof(none), &none) == EINVAL);
	CHECK(sched_getaffinity(0, 0, &mine) == -1 && errno == EINVAL);
}

static void main_thread_moves(void)
{
	for (int i = 0; i < 2 * CPU_COUNT(&all); i++) {
		cpu_set_t here = only(nth(i)), now;

		CHECK(sched_setaffinity(i % 2 ? 0 : gettid(), sizeof(here), &here) == 0);
		CHECK(sched_getcpu() == nth(i) && numbers_in_area_are(nth(i)));
		CHECK(sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &here));
	}
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

static void *stays(void *cpu)
{
	for (int i = 0; i < 100; i++) {
		CHECK(sched_getcpu() == (int)(long)cpu && numbers_in_area_are((int)(long)cpu));
		sched_yield();
	}
	return (void *)(long)gettid();
}

static void *waits(void *cpu)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	return stays(cpu);
}

static void others_are_moved(void)
{
	enum { THREADS = 12 };
	pthread_t threads[THREADS];
	long ids[THREADS];

	for (int i = 0; i < THREADS; i++) {
		cpu_set_t there = only(nth(i * 5));

		CHECK(pthread_create(&threads[i], NULL, waits, (void *)(long)nth(i * 5)) == 0);
		CHECK(pthread_setaffinity_np(threads[i], sizeof(there), &there) == 0);
	}
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], (void **)&ids[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < i; j++)
			CHECK(ids[i] != ids[j] && ids[i] != getpid());
}

static void attributes_count(void)
{
	pthread_attr_t attr;

	for (int i = 0; i < 8; i++) {
		cpu_set_t there = only(nth(i * 3));
		pthread_t thread;

		CHECK(pthread_attr_init(&attr) == 0);
		CHECK(pthread_attr_setaffinity_np(&attr, sizeof(there), &there) == 0);
		CHECK(pthread_create(&thread, &attr, stays, (void *)(long)nth(i * 3)) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		CHECK(pthread_attr_destroy(&attr) == 0);
	}
}

int main(void)
{
	counts_agree();
	main_thread_moves();
	others_are_moved();
	attributes_count();
	puts("CPUs are right");
	return 0;
}
