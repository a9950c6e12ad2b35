// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness.h"
#include <corefold/cf_lock.h>

struct guarded {
	struct cf_lock lock;
	long value, rounds; // plain: ThreadSanitizer looks on
};

static void count(int id, void *shared)
{
	struct guarded *g = shared;
	(void)id;
	for (long i = 0; i < g->rounds; i++) {
		struct cf_lock_node node;
		cf_lock_take(&g->lock, &node);
		g->value++;
		cf_lock_drop(&g->lock, &node);
	}
}

static void one_at_a_time(enum cf_lock_kind kind)
{
	struct guarded g = { .rounds = scaled(3000) };
	cf_lock_init(&g.lock, kind);
	crew_run(6, true, count, &g);
	CHECK_EQUAL(g.value, 6 * g.rounds);
}

TEST("a queued lock has one holder at a time")
{
	one_at_a_time(CF_LOCK_QUEUED);
}

TEST("a ticket lock has one holder at a time")
{
	one_at_a_time(CF_LOCK_TICKET);
}

struct left {
	struct cf_lock lock;
	long value; // plain: ThreadSanitizer looks on
	uint32_t done; // relaxed: orders nothing
};

static void *hold_once(void *argument)
{
	struct left *l = argument;
	struct cf_lock_node node;
	cf_lock_take(&l->lock, &node);
	l->value = 1;
	cf_lock_drop(&l->lock, &node);
	__atomic_store_n(&l->done, 1, __ATOMIC_RELAXED);
	return NULL;
}

TEST("who finds a lock free has what its last holder did")
{
	for (int kind = CF_LOCK_QUEUED; kind <= CF_LOCK_TICKET; kind++) {
		struct left l = { .value = 0 };
		struct cf_lock_node node;
		pthread_t thread;
		cf_lock_init(&l.lock, (enum cf_lock_kind)kind);
		CHECK_EQUAL(pthread_create(&thread, NULL, hold_once, &l), 0);
		while (!__atomic_load_n(&l.done, __ATOMIC_RELAXED))
			sched_yield();
		CHECK(cf_lock_try(&l.lock, &node));
		CHECK_EQUAL(l.value, 1);
		cf_lock_drop(&l.lock, &node);
		pthread_join(thread, NULL);
	}
}

static struct cf_lock shared_lock;
static uint32_t held, waiting;

static void *holder(void *unused)
{
	struct cf_lock_node node;
	pin(0);
	cf_lock_take(&shared_lock, &node);
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
		sched_yield();
	for (double end = now_seconds() + 0.01; now_seconds() < end;) // on the CPU that the waiter spins on
		;
	cf_lock_drop(&shared_lock, &node);
	return unused;
}

static double waited;

static void *waiter(void *unused)
{
	const struct sched_param priority = { .sched_priority = 1 };
	struct cf_lock_node node;
	struct timespec before, after;
	pin(0);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		usleep(100);
	if (sched_setscheduler(0, SCHED_FIFO, &priority)) {
		printf("       left out: no right to a real-time policy\n");
		__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
		return unused;
	}
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	cf_lock_take(&shared_lock, &node);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	cf_lock_drop(&shared_lock, &node);
	waited = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	return unused;
}

// Without sleep it would take the CPU until the kernel's limit for real-time policies throttles it, 0.95 s of each second.
static void real_time_waits(enum cf_lock_kind kind)
{
	pthread_t threads[2];
	held = waiting = 0;
	waited = 0;
	cf_lock_init(&shared_lock, kind);
	pthread_create(&threads[0], NULL, holder, NULL);
	pthread_create(&threads[1], NULL, waiter, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(waited < 0.05); // CPU time
}

TEST("a waiter of a real-time policy lets the holder run")
{
	real_time_waits(CF_LOCK_QUEUED);
	real_time_waits(CF_LOCK_TICKET);
}

HARNESS_MAIN
