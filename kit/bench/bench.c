// SPDX-License-Identifier: MIT OR Apache-2.0
// The native table: what an operation takes on this machine's cores, for the counters and their peers. Each figure is
// the median of interleaved rounds, and ratios are medians of ratios within a round, so that a noisy host moves all.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peers.h"
#include <corefold/cf_counter.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, OPERATIONS = 400000, THREADS_MAX = 2 };
enum workload { ADD, ADD_COMPARE_NEAR, ADD_COMPARE_FAR, TAKE_RETURN, WORKLOADS };

static const char *const workload_names[WORKLOADS] = { "add", "add+compare near", "add+compare far", "take+return" };

static struct cf_global_counter global;
static struct cf_percpu_counter percpu, limited;
static struct cf_adaptive_counter adaptive;
static struct cf_tree_counter tree;
static int64_t atomic_word CF_LINE_ALIGNED;
static struct peer_mutex mutex CF_LINE_ALIGNED = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct peer_threads threads CF_LINE_ALIGNED = { PTHREAD_MUTEX_INITIALIZER, NULL };
static struct peer_sharded sharded;

// Far enough that nothing is near, and a distance that slots on many CPUs cannot hide.
enum { START = 1 << 30, NEAR = START, FAR = START - 1000000 };

static volatile int sink;

// One loop for each: `add` changes by `n`, `order` compares with `rhs`, `take` takes 1 above START - 100.
#define LOOPS(name, add, order, take)                                                                                  \
	static void name(enum workload w)                                                                              \
	{                                                                                                              \
		if (w == ADD)                                                                                          \
			for (int i = 0; i < OPERATIONS; i++) {                                                         \
				int n = i & 64 ? -1 : 1;                                                               \
				add;                                                                                   \
			}                                                                                              \
		else if (w == TAKE_RETURN)                                                                             \
			for (int i = 0; i < OPERATIONS / 2; i++) {                                                     \
				int n = 1;                                                                             \
				take;                                                                                  \
				add;                                                                                   \
			}                                                                                              \
		else                                                                                                   \
			for (int i = 0; i < OPERATIONS; i++) {                                                         \
				int n = i & 64 ? -1 : 1;                                                               \
				int64_t rhs = w == ADD_COMPARE_NEAR ? NEAR : FAR;                                      \
				add;                                                                                   \
				sink = order;                                                                          \
			}                                                                                              \
	}

static __thread int64_t own_word;

static inline void bare_add(int64_t n)
{
	own_word += n;
	__asm__ volatile("" : "+m"(own_word));
}

static inline void mutex_add(int64_t n)
{
	pthread_mutex_lock(&mutex.mutex);
	mutex.value += n;
	pthread_mutex_unlock(&mutex.mutex);
}

static inline int mutex_order(int64_t rhs)
{
	pthread_mutex_lock(&mutex.mutex);
	int order = cf_value_order(mutex.value, rhs);
	pthread_mutex_unlock(&mutex.mutex);
	return order;
}

LOOPS(run_bare, bare_add(n), own_word > rhs, bare_add(-1))
LOOPS(run_atomic, __atomic_fetch_add(&atomic_word, n, __ATOMIC_RELAXED),
      cf_value_order(__atomic_load_n(&atomic_word, __ATOMIC_RELAXED), rhs), __atomic_fetch_sub(&atomic_word, 1, __ATOMIC_RELAXED))
LOOPS(run_mutex, mutex_add(n), mutex_order(rhs), mutex_add(-1))
LOOPS(run_threads, peer_threads_add(n), cf_value_order(peer_threads_sum(&threads), rhs), peer_threads_add(-1))
LOOPS(run_sharded, peer_sharded_add(&sharded, n), cf_value_order(peer_sharded_sum(&sharded), rhs), peer_sharded_add(&sharded, -1))
LOOPS(run_global, cf_global_counter_add(&global, n), cf_value_order(cf_global_counter_read(&global), rhs),
      cf_global_counter_limited_add(&global, FAR, -1))
LOOPS(run_percpu, cf_percpu_counter_add(&percpu, n), cf_percpu_counter_compare(&percpu, rhs),
      cf_percpu_counter_limited_add(&percpu, FAR, -1))
LOOPS(run_limited, cf_percpu_counter_add(&limited, n), cf_percpu_counter_compare(&limited, rhs),
      cf_percpu_counter_limited_add(&limited, FAR, -1))
LOOPS(run_adaptive, cf_adaptive_counter_add(&adaptive, n), cf_adaptive_counter_compare(&adaptive, rhs),
      cf_adaptive_counter_limited_add(&adaptive, FAR, -1))
LOOPS(run_tree, cf_tree_counter_add(&tree, n), cf_tree_counter_compare(&tree, rhs), cf_tree_counter_add(&tree, -1))

static const struct contender {
	const char *name;
	void (*run)(enum workload);
	bool compares; // can say on which side of a limit it is, to the unit
	bool limits;   // can refuse
} contenders[] = {
	{ "bare word", run_bare, false, false },     { "atomic", run_atomic, true, false },
	{ "mutex", run_mutex, true, false },         { "thread list", run_threads, true, false },
	{ "sharded", run_sharded, true, false },     { "cf_global", run_global, true, true },
	{ "cf_percpu", run_percpu, true, true },     { "cf_percpu, limit", run_limited, true, true },
	{ "cf_adaptive", run_adaptive, true, true }, { "cf_tree", run_tree, true, false },
};
enum { CONTENDERS = sizeof contenders / sizeof *contenders, BARE = 0, ATOMIC = 1, PERCPU = 6, ADAPTIVE = 8 };

struct runner {
	pthread_t thread;
	const struct contender *contender;
	enum workload workload;
	unsigned number;
	double nanoseconds;
	pthread_barrier_t *barrier;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *runner(void *argument)
{
	struct runner *r = argument;
	cpu_set_t set;
	double begin;
	CPU_ZERO(&set);
	CPU_SET(r->number, &set);
	sched_setaffinity(0, sizeof set, &set); // on a machine where that CPU is not ours: anywhere
	peer_number = r->number;
	peer_threads_join(&threads);
	pthread_barrier_wait(r->barrier);
	begin = now();
	r->contender->run(r->workload);
	r->nanoseconds = (now() - begin) / OPERATIONS;
	return NULL;
}

// Forgets the threads of the last run; the bench alone may: nobody sums now.
static void forget_threads(void)
{
	while (threads.first) {
		struct peer_thread *t = threads.first;
		threads.first = t->next;
		free(t);
	}
}

static double measure(const struct contender *contender, enum workload workload, unsigned count)
{
	struct runner r[THREADS_MAX];
	pthread_barrier_t barrier;
	double worst = 0;
	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		r[i] = (struct runner){ 0, contender, workload, i, 0, &barrier };
		pthread_create(&r[i].thread, NULL, runner, &r[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(r[i].thread, NULL);
		worst = r[i].nanoseconds > worst ? r[i].nanoseconds : worst;
	}
	pthread_barrier_destroy(&barrier);
	forget_threads();
	return worst;
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof *values, by_value);
	return values[ROUNDS / 2];
}

static bool applies(const struct contender *c, enum workload w)
{
	return w == ADD || (w == TAKE_RETURN ? c->limits : c->compares);
}

static void table(enum workload w, unsigned count)
{
	static double times[CONTENDERS][ROUNDS], ratios[ROUNDS];
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CONTENDERS; i++)
			times[i][round] = applies(&contenders[i], w) ? measure(&contenders[i], w, count) : 0;
	printf("\n%s, %u thread%s\n  %-18s %12s %14s %14s\n", workload_names[w], count, count > 1 ? "s" : "", "",
	       "ns/operation", "/ bare word", "/ cf_percpu");
	for (int i = 0; i < CONTENDERS; i++) {
		const int against[] = { BARE, PERCPU };
		if (!applies(&contenders[i], w))
			continue;
		printf("  %-18s", contenders[i].name);
		double own[ROUNDS];
		memcpy(own, times[i], sizeof own);
		printf(" %12.2f", median(own));
		for (int k = 0; k < 2; k++) {
			for (int round = 0; round < ROUNDS; round++)
				ratios[round] = times[i][round] / times[against[k]][round];
			if (applies(&contenders[against[k]], w))
				printf(" %14.2f", median(ratios));
			else
				printf(" %14s", "-");
		}
		printf("\n");
	}
}

int main(void)
{
	const struct cf_percpu_options small = { 0, 1, CF_LOCK_QUEUED };
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	static const char *const modes[] = { "compare-and-swap", "restartable sequences", "simulated" };
	if (cf_global_counter_init(&global, START) || cf_percpu_counter_init(&percpu, START) ||
	    cf_percpu_counter_init_with(&limited, START, &small) || cf_percpu_counter_set_limit(&limited, START) < 0 ||
	    cf_adaptive_counter_init(&adaptive, START, 0) || cf_tree_counter_init(&tree, START, 0))
		return 1;
	atomic_word = mutex.value = START;
	printf("%u possible CPUs; slots by %s; median of %d rounds\n", cf_cpu_count(), modes[cf_cpu_state.mode], ROUNDS);
	for (int w = 0; w < WORKLOADS; w++)
		for (unsigned count = 1; count <= THREADS_MAX && count <= (unsigned)online; count++)
			table((enum workload)w, count);
	return 0;
}
