// SPDX-License-Identifier: MIT OR Apache-2.0
// One cell of the grid "never the wrong one": a counter kind under one workload, a thread for each CPU, made to be run
// in the lab; natively it works too.
//   cell KIND WORKLOAD HEADROOM OPERATIONS WORK [WARM]
//   KIND       global percpu limit adaptive tree, or ticket: limit with a ticket lock
//   WORKLOAD   add, compare (each add followed by one), sums (1 in 100), reserve (taken above the limit, and returned)
//   HEADROOM   how far the value begins above the limit; -1 is no limit
//   WORK       cycles, about, between operations, on data of the thread's own
//   WARM       operations of each thread before the measured ones, by default 200 and 2,000 / CPUs: a counter that
//              adapts has not yet done so when it begins. The figure is the steady state; WARM 0 has the start in it
// Prints the operations of all threads in a microsecond, by the clock it runs on; exit code 1 if the sum is wrong.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_counter.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum workload { ADD, COMPARE, SUMS, RESERVE };
static const char *const workloads[] = { "add", "compare", "sums", "reserve" };

// The most that one thread's adds move the value from where it began.
enum { DRIFT = 8, BEGIN_UNLIMITED = 1 << 30 };

// Nanoseconds for each CPU until all have left a barrier and know when to begin.
enum { LEAD = 400 };

static struct cf_counter counter;
// Read at every operation: on no line that a barrier writes.
static enum workload workload CF_LINE_ALIGNED;
static int64_t limit;
static long operations, work, warm;
static int cpus;
static pthread_barrier_t ready CF_LINE_ALIGNED, warmed CF_LINE_ALIGNED;
static int64_t start_time CF_LINE_ALIGNED; // 0: not known yet

static int64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// All threads go on at one time: out of a barrier they come one by one, which with hundreds of CPUs takes as long as
// the operations.
static void begin_together(void)
{
	int64_t time = 0;
	// Relaxed: the time alone.
	if (pthread_barrier_wait(&warmed) == PTHREAD_BARRIER_SERIAL_THREAD)
		__atomic_store_n(&start_time, nanoseconds() + LEAD * cpus, __ATOMIC_RELAXED);
	while (time == 0)
		time = __atomic_load_n(&start_time, __ATOMIC_RELAXED);
	while (nanoseconds() < time)
		;
}

static void busy(uint64_t *random)
{
	for (long i = 0; i < work; i += 4) // a multiplication's latency
		*random = *random * 6364136223846793005u + 1;
}

static void operate(long i, int64_t *held)
{
	int64_t amount = i / DRIFT % 2 ? -1 : 1;
	if (workload == RESERVE) {
		if (*held == 0)
			*held = cf_counter_limited_add(&counter, limit, -DRIFT) == 0 ? DRIFT : 0;
		else if (cf_counter_add(&counter, 1) == 0)
			--*held;
		return;
	}
	cf_counter_add(&counter, amount);
	if (workload == COMPARE && cf_counter_compare(&counter, limit) < -1)
		abort();
	if (workload == SUMS && i % 100 == 99 && cf_counter_sum(&counter) < 0)
		abort();
}

struct span {
	int64_t begin, end;
} CF_LINE_ALIGNED;

static void *thread(void *argument)
{
	struct span *span = argument;
	uint64_t random = (uint64_t)(uintptr_t)argument;
	int64_t held = 0;
	pthread_barrier_wait(&ready);
	for (long i = 0; i < warm; i++) {
		busy(&random);
		operate(i, &held);
	}
	begin_together();
	CF_REGION_BEGIN();
	span->begin = nanoseconds();
	for (long i = warm; i < warm + operations; i++) {
		busy(&random);
		operate(i, &held);
		CF_PROGRESS("operation");
	}
	span->end = nanoseconds();
	CF_REGION_END();
	if (held)
		cf_counter_add(&counter, held);
	return (void *)(uintptr_t)(random == 42);
}

static enum cf_counter_kind kind_of(const char *name, struct cf_counter_options *options)
{
	if (strcmp(name, "ticket") == 0) {
		options->lock = CF_LOCK_TICKET;
		return CF_COUNTER_PERCPU_LIMIT;
	}
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++)
		if (strcmp(name, cf_counter_kind_name((enum cf_counter_kind)kind)) == 0)
			return (enum cf_counter_kind)kind;
	return CF_COUNTER_KINDS;
}

int main(int argc, char **argv)
{
	struct cf_counter_options options = { 0, 0, 0, 0, CF_LOCK_QUEUED };
	int64_t headroom = argc >= 6 ? atoll(argv[3]) : 0;
	int64_t start = headroom < 0 ? BEGIN_UNLIMITED : headroom + 1000;
	int64_t begin = INT64_MAX, end = 0;
	if (argc < 6 || argc > 7)
		return fprintf(stderr, "usage: cell KIND WORKLOAD HEADROOM OPERATIONS WORK [WARM]\n"), 2;
	while (strcmp(workloads[workload], argv[2]) && workload < RESERVE)
		workload++;
	limit = headroom < 0 ? 0 : start - headroom;
	operations = atol(argv[4]);
	work = atol(argv[5]);
	cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t *threads = calloc((size_t)cpus, sizeof *threads);
	struct span *spans = aligned_alloc(CF_LINE, (size_t)cpus * sizeof *spans);
	warm = argc == 7 ? atol(argv[6]) : 200 + 2000 / cpus;
	if (cf_counter_init(&counter, kind_of(argv[1], &options), start, &options))
		return fprintf(stderr, "cell: no such counter: %s\n", argv[1]), 2;
	pthread_barrier_init(&ready, NULL, (unsigned)cpus);
	pthread_barrier_init(&warmed, NULL, (unsigned)cpus);
	for (int i = 0; i < cpus; i++)
		pthread_create(&threads[i], NULL, thread, &spans[i]);
	for (int i = 0; i < cpus; i++) {
		pthread_join(threads[i], NULL);
		begin = spans[i].begin < begin ? spans[i].begin : begin;
		end = spans[i].end > end ? spans[i].end : end;
	}
	long phase = (warm + operations) % (2 * DRIFT);
	int64_t moved = workload == RESERVE ? 0 : phase < DRIFT ? phase : 2 * DRIFT - phase;
	int64_t sum = cf_counter_sum(&counter), right = start + cpus * moved;
	printf("%s %s %lld cpus %d: %.3f operations/us%s\n", argv[1], argv[2], (long long)headroom, cpus,
	       (double)operations * cpus / (double)(end - begin) * 1e3, sum == right ? "" : "  WRONG SUM");
	return sum != right;
}
