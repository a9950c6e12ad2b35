/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A workload: prepare() once, then work(thread, operations) again and again, on every thread at once.
 * Thread i is pinned to CPU i. A fifth of the time warms up; then it counts what all do.
 * Prints the mean time of an operation as one thread sees it:
 *
 *	ns_per_operation 12.34
 *
 * and natively, where others use the host, for how long a thread waited for its CPU, in the mean, and of threads that
 * work alone the cycles of the fast batches of thread 0, which nothing disturbed:
 *
 *	ns_preempted 0
 *	cycles_undisturbed 30.10
 *
 * Usage: WORKLOAD THREADS MICROSECONDS [together|alone]
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
#include <string.h>
#include <time.h>

#define LINE 64
#define MOST_THREADS 1024
#define BATCHES 4096

static void prepare(int threads);
static void work(int thread, long operations);

/* Each thread calls it once before anything is measured. */
#ifdef BEGINS
static void begin(int thread);
#else
static void begin(int thread) { (void)thread; }
#endif

/* 1: everybody does as many batches. */
#ifndef TOGETHER
#define TOGETHER 0
#endif

/* Operations between two looks at the clock, at most. */
#ifndef BATCH
#define BATCH 1600
#endif

static struct {
	_Alignas(LINE) atomic_int ready;
	_Alignas(LINE) atomic_int go;
	/* The batch that everybody may do, where threads need each other; negative: it was the last. */
	_Alignas(LINE) atomic_long turn;
	/* 0: warming up, 1: counting, 2: over. */
	_Alignas(LINE) atomic_int phase;
	_Alignas(LINE) int threads;
	long start, nanoseconds;
	int natively;
	/* Batches are held against instructions of known length beside them. */
	int counts_cycles;
	/* Operations that each thread has done. */
	struct { _Alignas(2 * LINE) atomic_long operations; } done[MOST_THREADS];
	_Atomic long preempted;
	/* At the two changes of phase: nanoseconds, and the operations of all threads. */
	struct { _Alignas(2 * LINE) long time, operations; } begun, ended;
	/* Of thread 0: cycles an operation of its latest batches, and how many it did. */
	double batch[BATCHES];
	long batches;
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

/* Nanoseconds of a cycle, as a chain of multiplications has it, of three cycles each. */
static double ns_of_cycle(void)
{
	enum { MULTIPLICATIONS = 2000 };
	long begun = now_ns();
#if defined(__x86_64__)
	unsigned long x = 1;

	for (int i = 0; i < MULTIPLICATIONS / 4; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(x));
#endif
	return (double)(now_ns() - begun) / (3 * MULTIPLICATIONS);
}

static double shorter_of(double a, double b)
{
	return a < b ? a : b;
}

static long all_operations(void)
{
	long sum = 0;

	for (int i = 0; i < run_state.threads; i++)
		sum += atomic_load_explicit(&run_state.done[i].operations, memory_order_relaxed);
	return sum;
}

/* Whoever finds first that it is time for the next phase begins it. Nobody waits for a thread that starves. */
static void look_at_clock(long now)
{
	long passed = now - run_state.start;
	int phase = atomic_load_explicit(&run_state.phase, memory_order_relaxed);

	if (phase == 0 && passed >= run_state.nanoseconds / 5 && atomic_compare_exchange_strong(&run_state.phase, &phase, 1)) {
		run_state.begun.operations = all_operations();
		run_state.begun.time = now;
	} else if (phase == 1 && passed >= run_state.nanoseconds && atomic_compare_exchange_strong(&run_state.phase, &phase, 2)) {
		run_state.ended.operations = all_operations();
		run_state.ended.time = now;
	}
}

/* Is there another batch after the one that ended now? */
static int another(int thread, long batches)
{
	int more = atomic_load_explicit(&run_state.phase, memory_order_relaxed) < 2;

#if TOGETHER
	/* Everybody does as many: thread 0 says after each whether there is another. */
	long turn;

	if (thread == 0) {
		atomic_store(&run_state.turn, more ? batches : -batches);
		return more;
	}
	while ((turn = atomic_load(&run_state.turn)) >= 0 && turn < batches)
		relax();
	return turn > 0;
#endif
	(void)thread, (void)batches;
	return more;
}

static void timed(int thread)
{
	long now = now_ns(), done = 0, batches = 0, size = TOGETHER ? BATCH : 1;
	int counts = thread == 0 && run_state.counts_cycles;
	double cycle = counts ? ns_of_cycle() : 0;

	do {
		long last = counts ? now_ns() : now;

		work(thread, size);
		done += size;
		atomic_store_explicit(&run_state.done[thread].operations, done, memory_order_relaxed);
		now = now_ns();
		if (counts) {
			double before = cycle;

			/* What disturbs the chain only makes it longer. */
			cycle = ns_of_cycle();
			run_state.batch[batches % BATCHES] = (double)(now - last) / (double)size / shorter_of(before, cycle);
		}
		batches++;
		if (!TOGETHER || thread == 0)
			look_at_clock(now);
		/* Long enough that the clock costs little, short enough to count those who seldom get their turn. */
		if (!TOGETHER && now - last < 5000 && size < BATCH)
			size *= 2;
	} while (another(thread, batches));
	if (thread == 0)
		run_state.batches = batches;
}

static int shorter(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of a fiftieth of the batches of thread 0: disturbances only add. */
static double undisturbed(void)
{
	size_t count = run_state.batches < BATCHES ? (size_t)run_state.batches : BATCHES;

	qsort(run_state.batch, count, sizeof(double), shorter);
	return run_state.batch[count / 50];
}

/* Nanoseconds for which this thread has waited for a CPU, where Linux says so. */
static long preempted(void)
{
	FILE *file = run_state.natively ? fopen("/proc/thread-self/schedstat", "r") : NULL;
	long ran, waited = 0;

	if (file) {
		if (fscanf(file, "%ld %ld", &ran, &waited) != 2)
			waited = 0;
		fclose(file);
	}
	return waited;
}

static void *workload_thread(void *argument)
{
	int thread = (int)(long)argument;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(thread, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		perror("this thread stays unpinned: sched_setaffinity");
	begin(thread);
	long before = preempted();
	if (thread) {
		atomic_fetch_add(&run_state.ready, 1);
		while (!atomic_load(&run_state.go))
			relax();
	} else {
		while (atomic_load(&run_state.ready) < run_state.threads - 1)
			relax();
		run_state.start = now_ns();
		atomic_store(&run_state.go, 1);
	}
	timed(thread);
	atomic_fetch_add(&run_state.preempted, preempted() - before);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t thread[MOST_THREADS];

	run_state.threads = argc > 1 ? atoi(argv[1]) : 1;
	run_state.nanoseconds = 1000 * (argc > 2 ? atol(argv[2]) : 20000);
	run_state.natively = argc > 3;
	run_state.counts_cycles = argc > 3 && !strcmp(argv[3], "alone");
	if (run_state.threads < 1 || run_state.threads > MOST_THREADS || run_state.nanoseconds < 1) {
		fprintf(stderr, "usage: %s THREADS MICROSECONDS [together|alone]\n", argv[0]);
		return 2;
	}
	prepare(run_state.threads);
	for (long i = 1; i < run_state.threads; i++)
		if (pthread_create(&thread[i], NULL, workload_thread, (void *)i))
			return 3;
	workload_thread((void *)0L);
	for (int i = 1; i < run_state.threads; i++)
		pthread_join(thread[i], NULL);
	printf("ns_per_operation %.3f\n", (double)(run_state.ended.time - run_state.begun.time) * run_state.threads
	       / (double)(run_state.ended.operations - run_state.begun.operations));
	if (run_state.counts_cycles)
		printf("cycles_undisturbed %.3f\n", undisturbed());
	if (run_state.natively)
		printf("ns_preempted %ld\n", run_state.preempted / run_state.threads);
	return 0;
}

#endif
