/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Condition variables: queues between threads, broadcasts, time-outs by either clock. */
#define _GNU_SOURCE
#include "threads.h"

enum { ITEMS = 1000, ROOM = 8 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, drained = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], head, length, produced;
static long sum;
static int pairs;

static void *produce(void *arg) {
	(void)arg;
	for (;;) {
		RETURNS(0, pthread_mutex_lock(&mutex));
		while (length == ROOM && produced < ITEMS)
			RETURNS(0, pthread_cond_wait(&drained, &mutex));
		int done = produced == ITEMS;
		if (!done)
			queue[(head + length++) % ROOM] = ++produced;
		if (produced == ITEMS) {
			RETURNS(0, pthread_cond_broadcast(&filled));
			RETURNS(0, pthread_cond_broadcast(&drained));
		}
		RETURNS(0, pthread_mutex_unlock(&mutex));
		if (done)
			return NULL;
		RETURNS(0, pthread_cond_signal(&filled));
	}
}

static void *consume(void *arg) {
	(void)arg;
	for (;;) {
		RETURNS(0, pthread_mutex_lock(&mutex));
		while (length == 0 && produced < ITEMS)
			RETURNS(0, pthread_cond_wait(&filled, &mutex));
		int done = length == 0;
		if (!done) {
			sum += queue[head];
			head = (head + 1) % ROOM;
			length--;
		}
		RETURNS(0, pthread_cond_signal(&drained));
		RETURNS(0, pthread_mutex_unlock(&mutex));
		if (done)
			return NULL;
	}
}

static void *produce_or_consume(void *arg) {
	return (intptr_t)arg % 2 ? produce(NULL) : consume(NULL);
}

static int waiting, go, gone;

static void *wait_for_go(void *arg) {
	(void)arg;
	RETURNS(0, pthread_mutex_lock(&mutex));
	if (++waiting == pairs * 2)
		RETURNS(0, pthread_cond_signal(&drained));
	while (!go)
		RETURNS(0, pthread_cond_wait(&filled, &mutex));
	gone++;
	RETURNS(0, pthread_mutex_unlock(&mutex));
	return NULL;
}

static void *say_go(void *arg) {
	(void)arg;
	RETURNS(0, pthread_mutex_lock(&mutex));
	while (waiting < pairs * 2)
		RETURNS(0, pthread_cond_wait(&drained, &mutex));
	go = 1;
	RETURNS(0, pthread_cond_broadcast(&filled));
	RETURNS(0, pthread_mutex_unlock(&mutex));
	return NULL;
}

static void *go_or_wait(void *arg) {
	return (intptr_t)arg == 0 ? say_go(NULL) : wait_for_go(NULL);
}

/* One signal for each waiter, no predicate to fall back on but the number of those who were let go. */
static int tickets;

static void *take_ticket(void *arg) {
	(void)arg;
	RETURNS(0, pthread_mutex_lock(&mutex));
	waiting++;
	while (tickets == 0)
		RETURNS(0, pthread_cond_wait(&filled, &mutex));
	tickets--;
	gone++;
	RETURNS(0, pthread_mutex_unlock(&mutex));
	return NULL;
}

static void *give_tickets(void *arg) {
	(void)arg;
	for (int i = 0; i < pairs * 2; i++) {
		RETURNS(0, pthread_mutex_lock(&mutex));
		tickets++;
		RETURNS(0, pthread_mutex_unlock(&mutex));
		RETURNS(0, pthread_cond_signal(&filled));
	}
	return NULL;
}

static void *give_or_take(void *arg) {
	return (intptr_t)arg == 0 ? give_tickets(NULL) : take_ticket(NULL);
}

static void time_outs(void) {
	struct timespec wrong = {0, 1000000000}, past = {0, 0}, soon = from_now(CLOCK_REALTIME, 2000000);
	RETURNS(0, pthread_mutex_lock(&mutex));
	RETURNS(EINVAL, pthread_cond_timedwait(&filled, &mutex, &wrong));
	RETURNS(ETIMEDOUT, pthread_cond_timedwait(&filled, &mutex, &past));
	RETURNS(ETIMEDOUT, pthread_cond_timedwait(&filled, &mutex, &soon));
	CHECK(has_come(CLOCK_REALTIME, soon));
	soon = from_now(CLOCK_MONOTONIC, 2000000);
	RETURNS(ETIMEDOUT, pthread_cond_clockwait(&filled, &mutex, CLOCK_MONOTONIC, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	RETURNS(EINVAL, pthread_cond_clockwait(&filled, &mutex, CLOCK_THREAD_CPUTIME_ID, &soon));
	RETURNS(0, pthread_mutex_unlock(&mutex));

	pthread_cond_t cond;
	pthread_condattr_t attr;
	RETURNS(0, pthread_condattr_init(&attr));
	RETURNS(0, pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	RETURNS(0, pthread_cond_init(&cond, &attr));
	RETURNS(0, pthread_mutex_lock(&mutex));
	soon = from_now(CLOCK_MONOTONIC, 2000000);
	RETURNS(ETIMEDOUT, pthread_cond_timedwait(&cond, &mutex, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	RETURNS(0, pthread_mutex_unlock(&mutex));
	RETURNS(0, pthread_cond_destroy(&cond));
}

static void *wait_on_freed(void *arg) {
	pthread_cond_t *cond = arg;
	RETURNS(0, pthread_mutex_lock(&mutex));
	waiting++;
	while (!go)
		RETURNS(0, pthread_cond_wait(cond, &mutex));
	RETURNS(0, pthread_mutex_unlock(&mutex));
	return NULL;
}

/* Destroying is allowed as soon as all have been signalled to; it waits for those on their way out. */
static void destroyed_at_once(void) {
	pthread_cond_t *cond = malloc(sizeof *cond);
	pthread_t threads[4];
	RETURNS(0, pthread_cond_init(cond, NULL));
	waiting = go = 0;
	for (int i = 0; i < 4; i++)
		RETURNS(0, pthread_create(&threads[i], NULL, wait_on_freed, cond));
	for (int all = 0; !all;) {
		RETURNS(0, pthread_mutex_lock(&mutex));
		all = waiting == 4;
		go = all;
		if (all)
			RETURNS(0, pthread_cond_broadcast(cond));
		RETURNS(0, pthread_mutex_unlock(&mutex));
		sched_yield();
	}
	RETURNS(0, pthread_cond_destroy(cond));
	memset(cond, 0xff, sizeof *cond);
	free(cond);
	for (int i = 0; i < 4; i++)
		RETURNS(0, pthread_join(threads[i], NULL));
}

int main(int argc, char **argv) {
	pairs = thread_count(argc, argv, 8) / 2 + 1;
	RETURNS(0, pthread_cond_signal(&filled));
	RETURNS(0, pthread_cond_broadcast(&filled));
	in_threads(pairs * 2, produce_or_consume);
	CHECK(sum == (long)ITEMS * (ITEMS + 1) / 2);
	printf("%d items came through\n", ITEMS);
	in_threads(pairs * 2 + 1, go_or_wait);
	CHECK(gone == pairs * 2);
	puts("a broadcast reaches all");
	waiting = gone = 0;
	in_threads(pairs * 2 + 1, give_or_take);
	CHECK(gone == pairs * 2 && tickets == 0);
	puts("no signal is lost");
	time_outs();
	puts("waits time out");
	destroyed_at_once();
	puts("destroyed when the last has left");
	return 0;
}
