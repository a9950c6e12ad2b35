/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A workload: prepare() once, then work(thread, operations) again and again, on every thread at once.
 * Thread i is pinned to CPU i. Each runs until its own clock says that the time is over; after a fifth of it,
 * which warms up, it begins to count. Prints the mean time of an operation as one thread sees it:
 *
 *	ns_per_operation 12.34
 *
 * Usage: WORKLOAD THREADS MICROSECONDS
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LINE 64
#define MOST_THREADS 1024

static void prepare(int threads);
static void work(int thread, long operations);

/* Operations between two looks at the clock. */
#ifndef BATCH
#define BATCH 1000
#endif

static struct {
	_Alignas(LINE) atomic_int ready;
	_Alignas(LINE) atomic_int go;
	/* The batch that everybody may do, where threads need each other; negative: it was the last. */
	_Alignas(LINE) atomic_long turn;
	_Alignas(LINE) int threads;
	long nanoseconds;
	double time[MOST_THREADS], operations[MOST_THREADS];
} run_state;

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static inline long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

#ifdef TOGETHER
/* Everybody does as many batches: thread 0 says after each whether there is another. */
static int another(int thread, long done, int more)
{
	long turn;

	if (thread == 0) {
		atomic_store(&run_state.turn, more ? done : -done);
		return more;
	}
	while ((turn = atomic_load(&run_state.turn)) >= 0 && turn < done)
		relax();
	return turn > 0;
}
#else
static int another(int thread, long done, int more)
{
	(void)thread, (void)done;
	return more;
}
#endif

static void timed(int thread)
{
	long start = now_ns(), now, begin = 0, done = 0, warm = 0;

	do {
		work(thread, BATCH);
		done++;
		now = now_ns();
		if (!begin && now - start >= run_state.nanoseconds / 5) {
			begin = now;
			warm = done;
		}
	} while (another(thread, done, now - start < run_state.nanoseconds || done == warm));
	run_state.time[thread] = (double)(now - begin);
	run_state.operations[thread] = (double)(done - warm) * BATCH;
}

static void *workload_thread(void *argument)
{
	int thread = (int)(long)argument;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(thread, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		perror("this thread stays unpinned: sched_setaffinity");
	if (thread)
		atomic_fetch_add(&run_state.ready, 1);
	while (!atomic_load(&run_state.go))
		relax();
	timed(thread);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t thread[MOST_THREADS];
	double time = 0, operations = 0;

	run_state.threads = argc > 1 ? atoi(argv[1]) : 1;
	run_state.nanoseconds = 1000 * (argc > 2 ? atol(argv[2]) : 20000);
	if (run_state.threads < 1 || run_state.threads > MOST_THREADS || run_state.nanoseconds < 1) {
		fprintf(stderr, "usage: %s THREADS MICROSECONDS\n", argv[0]);
		return 2;
	}
	prepare(run_state.threads);
	for (long i = 1; i < run_state.threads; i++)
		if (pthread_create(&thread[i], NULL, workload_thread, (void *)i))
			return 3;
	while (atomic_load(&run_state.ready) < run_state.threads - 1)
		relax();
	atomic_store(&run_state.go, 1);
	workload_thread((void *)0L);
	for (int i = 1; i < run_state.threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < run_state.threads; i++) {
		time += run_state.time[i];
		operations += run_state.operations[i];
	}
	printf("ns_per_operation %.3f\n", time / operations);
	return 0;
}

#endif
