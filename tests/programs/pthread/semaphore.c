/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Semaphores: counting, hand-over between threads, errors, time-outs. */
#define _GNU_SOURCE
#include "threads.h"
#include <semaphore.h>

enum { ROUNDS = 1000, ROOM = 3 };
static sem_t room, empty, full;
static int threads, inside, most_inside;
static long item, sum;

static void *come_and_go(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS / threads; i++) {
		CHECK(sem_wait(&room) == 0);
		int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		CHECK(now <= ROOM);
		if (now > __atomic_load_n(&most_inside, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most_inside, now, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		CHECK(sem_post(&room) == 0);
	}
	return NULL;
}

static void *hand_over(void *arg) {
	int gives = (intptr_t)arg == 0;
	for (int i = 1; i <= ROUNDS; i++) {
		CHECK(sem_wait(gives ? &empty : &full) == 0);
		if (gives)
			item = i;
		else
			sum += item;
		CHECK(sem_post(gives ? &full : &empty) == 0);
	}
	return NULL;
}

static void errors(void) {
	sem_t sem;
	int value;
	struct timespec soon = from_now(CLOCK_REALTIME, 1000000), wrong = {0, 1000000000};
	FAILS(EINVAL, sem_init(&sem, 0, 1u << 31));
	CHECK(sem_init(&sem, 0, 1) == 0);
	CHECK(sem_trywait(&sem) == 0);
	FAILS(EAGAIN, sem_trywait(&sem));
	FAILS(EINVAL, sem_timedwait(&sem, &wrong));
	FAILS(ETIMEDOUT, sem_timedwait(&sem, &soon));
	CHECK(has_come(CLOCK_REALTIME, soon));
	soon = from_now(CLOCK_MONOTONIC, 1000000);
	FAILS(ETIMEDOUT, sem_clockwait(&sem, CLOCK_MONOTONIC, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	FAILS(EINVAL, sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &soon));
	CHECK(sem_post(&sem) == 0);
	CHECK(sem_post(&sem) == 0);
	CHECK(sem_getvalue(&sem, &value) == 0 && value == 2);
	soon = from_now(CLOCK_REALTIME, 0);
	CHECK(sem_timedwait(&sem, &soon) == 0);
	CHECK(sem_destroy(&sem) == 0);
	CHECK(sem_init(&sem, 0, 0x7fffffff) == 0);
	FAILS(EOVERFLOW, sem_post(&sem));
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	CHECK(sem_init(&room, 0, ROOM) == 0);
	CHECK(sem_init(&empty, 1, 1) == 0);
	CHECK(sem_init(&full, 1, 0) == 0);
	in_threads(threads, come_and_go);
	int value;
	CHECK(sem_getvalue(&room, &value) == 0 && value == ROOM);
	puts("no more than there is room for");
	in_threads(2, hand_over);
	CHECK(sum == (long)ROUNDS * (ROUNDS + 1) / 2);
	puts("handed over in turn");
	errors();
	puts("errors and time-outs");
	return 0;
}
