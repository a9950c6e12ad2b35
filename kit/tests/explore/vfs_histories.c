// SPDX-License-Identifier: MIT OR Apache-2.0
// Concurrent histories of cf_vfs, for `corefold explore`: a few threads make two to four calls each, and the results must be
// those of the model in some order of the calls that agrees with real time (each call takes effect at one moment between
// its begin and its end), apart from the exceptions that cf_vfs.h lists (vfs_programs.h leaves them out).
//   vfs_histories ROUNDS [KIND]   so many small programs, chosen at random; KIND: 0 to 4, of vfs_programs.h
// Each round is another program on a new file system.
#include "../vfs/model/ours.h"
#include "vfs_programs.h"
#include <corefold/cf_dcache.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static struct history h;
static struct ours ours;
static uint64_t tick; // of the clock that says which calls overlap
static int ready;     // threads that are about to begin

static void make_call(struct event *e)
{
	if (e->call.op == OP_SHRINK)
		cf_vfs_shrink(ours.vfs, 3);
	else
		ours_call(&ours, &e->call, &e->result);
}

// The seed decides where threads are delayed, but for many programs in one run. Each program has delays of its own, too: at
// up to three of the kit's test points, long enough for the others to end.
enum { DELAYS = 3, POINTS = 100, DELAY_NS = 200000 };
static uint32_t delays[DELAYS], points; // numbers of the points, and how many have been passed

void cf_test_point(const char *where);
void cf_test_point(const char *where)
{
	uint32_t number = __atomic_add_fetch(&points, 1, __ATOMIC_RELAXED);
	(void)where;
	for (int i = 0; i < DELAYS; i++)
		if (delays[i] == number)
			nanosleep(&(struct timespec){ 0, DELAY_NS }, NULL);
}

static void choose_delays(struct random *random)
{
	points = 0;
	for (int i = 0; i < DELAYS; i++)
		delays[i] = below(random, 2) ? 1 + below(random, POINTS) : 0;
}

static void *thread(void *argument)
{
	long number = (long)argument;
	cf_rcu_register_thread();
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < h.threads) // together: a wake-up each would take longer than the calls
		sched_yield();
	for (int i = 0; i < h.calls[number]; i++) {
		struct event *e = &h.events[number][i];
		e->begin = __atomic_fetch_add(&tick, 1, __ATOMIC_SEQ_CST);
		make_call(e);
		e->end = __atomic_fetch_add(&tick, 1, __ATOMIC_SEQ_CST);
	}
	cf_rcu_unregister_thread();
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[HISTORY_THREADS];
	ready = 0;
	for (long t = 0; t < h.threads; t++)
		if (pthread_create(&threads[t], NULL, thread, (void *)t))
			exit(2);
	for (int t = 0; t < h.threads; t++)
		pthread_join(threads[t], NULL);
}

static long calls, overlapping;

static void count_overlaps(void)
{
	for (int t = 0; t < h.threads; t++)
		for (int i = 0; i < h.calls[t]; i++) {
			const struct event *e = &h.events[t][i];
			calls++;
			overlapping += e->end > e->begin + 1; // another call began or ended meanwhile
		}
}

static bool run(struct random *random, long round, enum kind kind)
{
	static const struct cf_time now = { 1, 0 };
	struct result r;
	bool right;
	some_program(&h, random, kind);
	if (ours_new(&ours, &h.options, &now, NULL))
		exit(2);
	for (int i = 0; i < h.setup_count; i++)
		ours_call(&ours, &h.setup[i], &r);
	choose_delays(random);
	run_threads();
	count_overlaps();
	for (int i = 0; i < h.probe_count; i++)
		make_call(&h.probes[i]);
	right = history_is_linear(&h);
	if (!right) {
		fprintf(stderr, "vfs_histories: round %ld, kind %d: no order of these calls gives these results\n", round, kind);
		history_print(stderr, &h);
	}
	ours_free(&ours);
	return right;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 20;
	struct random random;
	bool right = true;
	if (getrandom(&random.state, sizeof random.state, 0) != sizeof random.state)
		return 2;
	cf_rcu_register_thread();
	for (long i = 0; i < rounds && right; i++)
		right = run(&random, i, argc > 2 ? (enum kind)atoi(argv[2]) : (enum kind)(i % KINDS));
	cf_rcu_unregister_thread();
	printf("%ld programs, %ld calls, %ld of which overlap others\n", rounds, calls, overlapping);
	return right ? 0 : 1;
}
