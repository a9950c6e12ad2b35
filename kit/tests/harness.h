/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * harness.h: the kit's tests. A file has TEST("name") { ... } blocks and one HARNESS_MAIN; CHECK fails a test and says
 * where. Environment:
 *   CF_TEST_ATOMICS=1   run without restartable sequences (the fallback)
 *   CF_TEST_SCALE=N     N times as many operations: `make stress`
 *   CF_TEST_ONLY=text   only tests whose name contains it
 */
#ifndef KIT_TESTS_HARNESS_H
#define KIT_TESTS_HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_cpu.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *tests, **last_test = &tests;
static int failures;

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEST(text) TEST_(text, JOIN(test_, __LINE__))
#define TEST_(text, id)                                                                                                \
	static void id(void);                                                                                          \
	__attribute__((constructor)) static void JOIN(id, _add)(void)                                                  \
	{                                                                                                              \
		static struct test test = { text, id, NULL };                                                          \
		*last_test = &test;                                                                                    \
		last_test = &test.next;                                                                                \
	}                                                                                                              \
	static void id(void)

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                            \
		}                                                                                                      \
	} while (0)

#define CHECK_EQUAL(a, b)                                                                                              \
	do {                                                                                                           \
		long long left_ = (long long)(a), right_ = (long long)(b);                                             \
		if (left_ != right_) {                                                                                 \
			fprintf(stderr, "%s:%d: failed: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a, left_, #b,  \
				right_);                                                                               \
			__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                            \
		}                                                                                                      \
	} while (0)

static inline long scaled(long operations)
{
	const char *scale = getenv("CF_TEST_SCALE");
	/* ThreadSanitizer takes ten times as long for each. */
	return operations * (scale ? atol(scale) : 1) / (CF_BUILT_SANITISED ? 10 : 1);
}

/* A thread's own small generator: the same numbers in every run. */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*state >> 33) % bound);
}

static cpu_set_t allowed_cpus; /* as the process began */

/* Runs on the n-th CPU that it may use from now on. False: there are not so many. */
static inline bool pin(int n)
{
	cpu_set_t set;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed_cpus) && n-- == 0) {
			CPU_ZERO(&set);
			CPU_SET(cpu, &set);
			return sched_setaffinity(0, sizeof set, &set) == 0;
		}
	return false;
}

static inline void unpin(void)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	sched_setaffinity(0, sizeof all, &all);
}

struct crew {
	void (*work)(int id, void *shared);
	void *shared;
	int id;
	pthread_t thread;
	struct crew_state {
		uint32_t size, ready, finished, released;
	} *all;
};

static void *crew_start(void *argument)
{
	struct crew *me = argument;
	__atomic_fetch_add(&me->all->ready, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&me->all->ready, __ATOMIC_RELAXED) < me->all->size)
		sched_yield();
	me->work(me->id, me->shared);
	/* To the affinity of a thread that has ended, glibc sets the caller's: none ends while they are moved. */
	__atomic_fetch_add(&me->all->finished, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&me->all->released, __ATOMIC_RELAXED))
		usleep(100);
	return NULL;
}

enum { CREW_MAX = 128 };

/* Each thread to one CPU after another, and at times to all, until their work is done. */
static inline void crew_move(struct crew *crew, struct crew_state *all)
{
	cpu_set_t allowed, set;
	int cpus;
	sched_getaffinity(0, sizeof allowed, &allowed);
	cpus = CPU_COUNT(&allowed);
	for (uint32_t round = 0; __atomic_load_n(&all->finished, __ATOMIC_RELAXED) < all->size; round++) {
		int skip = (int)(round / all->size) % (cpus + 1);
		set = allowed;
		for (int cpu = 0; skip < cpus && cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
				CPU_ZERO(&set);
				CPU_SET(cpu, &set);
				break;
			}
		pthread_setaffinity_np(crew[round % all->size].thread, sizeof set, &set);
		usleep(100);
	}
}

/* Runs `size` threads at once, to their end. `moving`: they are moved about meanwhile. */
static inline void crew_run(int size, bool moving, void (*work)(int, void *), void *shared)
{
	struct crew crew[CREW_MAX];
	struct crew_state all = { (uint32_t)size, 0, 0, 0 };
	for (int i = 0; i < size; i++) {
		crew[i] = (struct crew){ work, shared, i, 0, &all };
		if (pthread_create(&crew[i].thread, NULL, crew_start, &crew[i])) {
			perror("pthread_create");
			exit(2);
		}
	}
	if (moving)
		crew_move(crew, &all);
	__atomic_store_n(&all.released, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < size; i++)
		pthread_join(crew[i].thread, NULL);
}

/* The test cannot run here, or only in part. Said also at the end of the repository's `make test` (scripts/skipped). */
static inline void skip(const char *why)
{
	const char *list = getenv("COREFOLD_SKIPPED");
	FILE *file = list ? fopen(list, "a") : NULL;
	printf("SKIPPED kit: %s: %s\n", program_invocation_short_name, why);
	if (file) {
		fprintf(file, "SKIPPED kit: %s: %s\n", program_invocation_short_name, why);
		fclose(file);
	}
}

static inline double now_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline int run_tests(void)
{
	const char *only = getenv("CF_TEST_ONLY");
	int failed = 0, run = 0;
	sched_getaffinity(0, sizeof allowed_cpus, &allowed_cpus);
	if (getenv("CF_TEST_ATOMICS") && cf_cpu_use_atomics())
		return 2;
	for (struct test *test = tests; test; test = test->next) {
		double begin = now_seconds();
		if (only && !strstr(test->name, only))
			continue;
		failures = 0;
		run++;
		test->run();
		printf("%s %s (%.2f s)\n", failures ? "FAILED" : "ok    ", test->name, now_seconds() - begin);
		fflush(stdout);
		failed |= failures != 0;
	}
	if (only && !run) {
		fprintf(stderr, "no test's name contains \"%s\"\n", only);
		return 2;
	}
	return failed;
}

#define HARNESS_MAIN                                                                                                   \
	int main(void)                                                                                                 \
	{                                                                                                              \
		return run_tests();                                                                                    \
	}

#endif
