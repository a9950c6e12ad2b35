/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The futex system call, as languages' runtimes make it. */
#define _GNU_SOURCE
#include "threads.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned word, other, asleep, awake;
static int threads;

static long futex(unsigned *at, int op, unsigned value, const struct timespec *time, unsigned *second, unsigned third) {
	return syscall(SYS_futex, at, op, value, time, second, third);
}

/* Until `*word` is as it should be; there is no telling otherwise that the others sleep. */
static void let_others_sleep(unsigned n) {
	struct timespec a_while = {0, 20000000};
	while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < n)
		nanosleep(&a_while, NULL);
	nanosleep(&a_while, NULL);
}

static void *sleep_on(void *arg) {
	int me = (int)(intptr_t)arg;
	__atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
	long got = futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, me % 2 ? 1 : 2);
	CHECK(got == 0);
	__atomic_fetch_add(&awake, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void bitsets_and_requeue(void) {
	pthread_t sleepers[MOST_THREADS];
	int odd = threads / 2;
	asleep = awake = 0;
	for (int i = 0; i < threads; i++)
		RETURNS(0, pthread_create(&sleepers[i], NULL, sleep_on, (void *)(intptr_t)i));
	let_others_sleep(threads);
	CHECK(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, 4) == 0);
	CHECK(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, 1) == odd);
	FAILS(EAGAIN, futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)(intptr_t)INT_MAX, &other, 1));
	CHECK(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)(intptr_t)INT_MAX, &other, 0) == threads - odd);
	CHECK(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) == 0);
	/* Back, and there again: moved or woken, each counts. */
	CHECK(futex(&other, FUTEX_REQUEUE_PRIVATE, 0, (void *)(intptr_t)INT_MAX, &word, 0) == threads - odd - 1);
	CHECK(futex(&word, FUTEX_REQUEUE_PRIVATE, 0, (void *)(intptr_t)INT_MAX, &other, 0) == threads - odd - 1);
	CHECK(futex(&other, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) == threads - odd - 1);
	for (int i = 0; i < threads; i++)
		RETURNS(0, pthread_join(sleepers[i], NULL));
	CHECK(awake == (unsigned)threads);
}

static void wake_op(void) {
	pthread_t sleeper;
	asleep = 0;
	other = 5;
	RETURNS(0, pthread_create(&sleeper, NULL, sleep_on, NULL));
	let_others_sleep(1);
	int add_two_if_five = FUTEX_OP(FUTEX_OP_ADD, 2, FUTEX_OP_CMP_EQ, 5);
	CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other, add_two_if_five) == 1);
	CHECK(other == 7);
	RETURNS(0, pthread_join(sleeper, NULL));
}

static void errors_and_time_outs(void) {
	struct timespec span = {0, 1000000}, wrong = {0, 1000000000};
	struct timespec end = from_now(CLOCK_MONOTONIC, 1000000);
	FAILS(EAGAIN, futex(&word, FUTEX_WAIT, 1, NULL, NULL, 0));
	FAILS(EINVAL, futex(&word, FUTEX_WAIT, 0, &wrong, NULL, 0));
	FAILS(EINVAL, futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT, 0, &span, NULL, 0));
	CHECK(has_come(CLOCK_MONOTONIC, end));
	end = from_now(CLOCK_MONOTONIC, 1000000);
	FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY));
	CHECK(has_come(CLOCK_MONOTONIC, end));
	end = from_now(CLOCK_REALTIME, 1000000);
	FAILS(ETIMEDOUT,
		  futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY));
	CHECK(has_come(CLOCK_REALTIME, end));
}

/* A mutex of three states, and a count that it guards. */
static unsigned lock;
static long counter;

static void *count(void *arg) {
	(void)arg;
	for (int i = 0; i < 1000 / threads; i++) {
		unsigned found = 0;
		if (!__atomic_compare_exchange_n(&lock, &found, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0)
				futex(&lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
		counter++;
		if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
			futex(&lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	CHECK(threads > 1);
	in_threads(threads, count);
	CHECK(counter == 1000 / threads * threads);
	puts("a lock of futexes excludes");
	bitsets_and_requeue();
	puts("bitsets and requeues");
	wake_op();
	puts("two in one");
	errors_and_time_outs();
	puts("errors and time-outs");
	return 0;
}
