/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * hold.h: one thread is held at a test point of the kit (cf_shim.h) while others run on. For tests that are compiled with
 * CF_TEST_POINTS, with the kit's sources.
 */
#ifndef KIT_TESTS_HOLD_H
#define KIT_TESTS_HOLD_H

#include "harness.h"
#include <semaphore.h>

/* A thread of a test: what it does, on which CPU, and where it is held the first time that it gets there. */
struct actor {
	void (*act)(void);
	int cpu;
	const char *stop_at;
	int skip; /* so many times it is not held there */
	pthread_t thread;
	sem_t held, go_on;
	uint32_t done;
	bool quietly;              /* held by flags that order nothing, where ThreadSanitizer is to see the kit's order alone */
	uint32_t is_held, may_go;  /* then; relaxed */
};

static __thread struct actor *self;

/* Every wait in a test ends. */
static inline void wait_or_die(sem_t *semaphore, const char *what)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	while (sem_timedwait(semaphore, &end))
		if (errno == ETIMEDOUT) {
			fprintf(stderr, "a minute has passed: %s\n", what);
			exit(1);
		}
}

void cf_test_point(const char *where)
{
	struct actor *a = self;
	/* Relaxed: a test may set it while its actor sleeps. */
	const char *stop_at = a ? __atomic_load_n(&a->stop_at, __ATOMIC_RELAXED) : NULL;
	if (!stop_at || strcmp(stop_at, where))
		return;
	if (a->skip-- > 0)
		return;
	__atomic_store_n(&a->stop_at, NULL, __ATOMIC_RELAXED);
	if (a->quietly) {
		__atomic_store_n(&a->is_held, 1, __ATOMIC_RELAXED);
		while (!__atomic_load_n(&a->may_go, __ATOMIC_RELAXED))
			sched_yield();
		return;
	}
	sem_post(&a->held);
	wait_or_die(&a->go_on, where);
}

static void *actor_main(void *argument)
{
	struct actor *a = argument;
	pin(a->cpu);
	self = a;
	a->act();
	self = NULL;
	__atomic_store_n(&a->done, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++) /* whoever waits for it to be held, again and again */
		sem_post(&a->held);
	return NULL;
}

static inline void actor_start(struct actor *a)
{
	sem_init(&a->held, 0, 0);
	sem_init(&a->go_on, 0, 0);
	a->done = 0;
	if (pthread_create(&a->thread, NULL, actor_main, a)) {
		perror("pthread_create");
		exit(2);
	}
}

/* Until it is held, or done. True: it is held. */
static inline bool actor_wait_held(struct actor *a)
{
	wait_or_die(&a->held, "a thread is neither held nor done");
	return !__atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
}

/* Gives it time to finish. False: it waits for somebody. */
static inline bool actor_finishes(struct actor *a)
{
	for (int i = 0; i < 200 && !__atomic_load_n(&a->done, __ATOMIC_ACQUIRE); i++)
		usleep(100);
	return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
}

static inline void actor_end(struct actor *a)
{
	sem_post(&a->go_on);
	pthread_join(a->thread, NULL);
}

/* False, and says so: this machine has one CPU for us, and two threads cannot be in their CPUs' slots at once. */
static inline bool two_cpus(void)
{
	bool two = pin(1);
	unpin();
	if (!two)
		printf("       left out: this test needs two CPUs\n");
	return two;
}

#endif
