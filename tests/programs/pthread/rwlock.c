/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reader-writer locks: exclusion, sharing, preferences, errors and time-outs. */
#define _GNU_SOURCE
#include "threads.h"

enum { ROUNDS = 500 };
static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t *lock;
static long first, second;
static int writers_inside;
static int threads;

static void *mix(void *arg) {
	int me = (int)(intptr_t)arg;
	for (int i = 0; i < ROUNDS / threads + 4; i++) {
		if ((i + me) % 4 == 0) {
			RETURNS(0, pthread_rwlock_wrlock(lock));
			CHECK(__atomic_fetch_add(&writers_inside, 1, __ATOMIC_SEQ_CST) == 0);
			first++;
			second++;
			__atomic_fetch_sub(&writers_inside, 1, __ATOMIC_SEQ_CST);
		} else {
			RETURNS(0, pthread_rwlock_rdlock(lock));
			CHECK(__atomic_load_n(&writers_inside, __ATOMIC_SEQ_CST) == 0);
			CHECK(first == second);
		}
		RETURNS(0, pthread_rwlock_unlock(lock));
	}
	return NULL;
}

static long writes(void) {
	long n = 0;
	for (int me = 0; me < threads; me++)
		for (int i = 0; i < ROUNDS / threads + 4; i++)
			n += (i + me) % 4 == 0;
	return n;
}

static void excludes(const char *name, pthread_rwlock_t *of) {
	lock = of;
	first = second = 0;
	in_threads(threads, mix);
	CHECK(first == writes() && second == first);
	printf("%s: writers exclude\n", name);
}

/* All readers meet inside: nobody could, if they excluded each other. */
static pthread_barrier_t meeting;

static void *meet(void *arg) {
	(void)arg;
	RETURNS(0, pthread_rwlock_rdlock(lock));
	pthread_barrier_wait(&meeting);
	RETURNS(0, pthread_rwlock_unlock(lock));
	return NULL;
}

static void shares(const char *name, pthread_rwlock_t *of) {
	lock = of;
	RETURNS(0, pthread_barrier_init(&meeting, NULL, threads));
	in_threads(threads, meet);
	RETURNS(0, pthread_barrier_destroy(&meeting));
	printf("%s: readers share\n", name);
}

static void *against_writer(void *arg) {
	(void)arg;
	struct timespec soon = from_now(CLOCK_REALTIME, 1000000), wrong = {0, -1};
	RETURNS(EBUSY, pthread_rwlock_tryrdlock(lock));
	RETURNS(EBUSY, pthread_rwlock_trywrlock(lock));
	RETURNS(EINVAL, pthread_rwlock_timedrdlock(lock, &wrong));
	RETURNS(ETIMEDOUT, pthread_rwlock_timedrdlock(lock, &soon));
	CHECK(has_come(CLOCK_REALTIME, soon));
	RETURNS(ETIMEDOUT, pthread_rwlock_timedwrlock(lock, &soon));
	soon = from_now(CLOCK_MONOTONIC, 1000000);
	RETURNS(ETIMEDOUT, pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	soon = from_now(CLOCK_MONOTONIC, 1000000);
	RETURNS(ETIMEDOUT, pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	return NULL;
}

static void *against_reader(void *arg) {
	(void)arg;
	struct timespec soon = from_now(CLOCK_REALTIME, 1000000);
	RETURNS(0, pthread_rwlock_tryrdlock(lock));
	RETURNS(0, pthread_rwlock_unlock(lock));
	RETURNS(EBUSY, pthread_rwlock_trywrlock(lock));
	RETURNS(ETIMEDOUT, pthread_rwlock_timedwrlock(lock, &soon));
	/* A writer that has given up is in nobody's way. */
	RETURNS(0, pthread_rwlock_rdlock(lock));
	RETURNS(0, pthread_rwlock_unlock(lock));
	return NULL;
}

static void errors(const char *name, pthread_rwlock_t *of) {
	lock = of;
	RETURNS(0, pthread_rwlock_wrlock(of));
	RETURNS(EDEADLK, pthread_rwlock_wrlock(of));
	RETURNS(EDEADLK, pthread_rwlock_rdlock(of));
	in_threads(1, against_writer);
	RETURNS(0, pthread_rwlock_unlock(of));
	RETURNS(0, pthread_rwlock_rdlock(of));
	in_threads(1, against_reader);
	RETURNS(0, pthread_rwlock_unlock(of));
	RETURNS(0, pthread_rwlock_trywrlock(of));
	RETURNS(0, pthread_rwlock_unlock(of));
	printf("%s: busy while held\n", name);
}

/* Who comes first while a reader is inside and a writer waits: the next reader, or the writer? */
static int writer_was_first;
static int writer_done;

static void *write_once(void *arg) {
	(void)arg;
	RETURNS(0, pthread_rwlock_wrlock(lock));
	__atomic_store_n(&writer_done, 1, __ATOMIC_SEQ_CST);
	RETURNS(0, pthread_rwlock_unlock(lock));
	return NULL;
}

static void *read_once(void *arg) {
	(void)arg;
	RETURNS(0, pthread_rwlock_rdlock(lock));
	writer_was_first = __atomic_load_n(&writer_done, __ATOMIC_SEQ_CST);
	RETURNS(0, pthread_rwlock_unlock(lock));
	return NULL;
}

/* The writer waits first, then the reader, if each begins to within a while. */
static void prefers(pthread_rwlock_t *of, long ns) {
	struct timespec a_while = {ns / 1000000000, ns % 1000000000};
	pthread_t reader, writer;
	lock = of;
	writer_done = 0;
	RETURNS(0, pthread_rwlock_rdlock(of));
	RETURNS(0, pthread_create(&writer, NULL, write_once, NULL));
	nanosleep(&a_while, NULL);
	RETURNS(0, pthread_create(&reader, NULL, read_once, NULL));
	nanosleep(&a_while, NULL);
	RETURNS(0, pthread_rwlock_unlock(of));
	RETURNS(0, pthread_join(reader, NULL));
	RETURNS(0, pthread_join(writer, NULL));
}

/* On a busy host they may begin later: then once more, with more time. */
static void preference(pthread_rwlock_t *of, int expected) {
	long ns = 20000000;

	prefers(of, ns);
	while (writer_was_first != expected && !getenv("COREFOLD_LAUNCH") && ns < 10000000000)
		prefers(of, ns *= 4);
	CHECK(writer_was_first == expected);
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	excludes("plain", &plain);
	excludes("writers first", &writers_first);
	shares("plain", &plain);
	shares("writers first", &writers_first);
	errors("plain", &plain);
	errors("writers first", &writers_first);
	preference(&plain, 0);
	preference(&writers_first, 1);
	puts("preferences hold");
	pthread_rwlock_t made;
	pthread_rwlockattr_t attr;
	RETURNS(0, pthread_rwlockattr_init(&attr));
	RETURNS(0, pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
	memset(&made, 0xa5, sizeof made);
	RETURNS(0, pthread_rwlock_init(&made, &attr));
	excludes("initialised", &made);
	preference(&made, 1);
	RETURNS(0, pthread_rwlock_destroy(&made));
	return 0;
}
