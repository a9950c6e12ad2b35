/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Mutexes of every kind: exclusion, errors, time-outs. */
#define _GNU_SOURCE
#include "threads.h"

enum { ROUNDS = 2000 };
static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t *contended;
static int threads;
static long counter;
static int inside;

static void *count(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS / threads; i++) {
		RETURNS(0, pthread_mutex_lock(contended));
		CHECK(inside++ == 0);
		counter++;
		inside--;
		RETURNS(0, pthread_mutex_unlock(contended));
	}
	return NULL;
}

static void excludes(const char *name, pthread_mutex_t *mutex) {
	counter = 0;
	contended = mutex;
	in_threads(threads, count);
	CHECK(counter == ROUNDS / threads * threads);
	printf("%s excludes\n", name);
}

static void *try_held(void *mutex) {
	struct timespec past = {0, 0}, soon = from_now(CLOCK_REALTIME, 2000000), wrong = {0, 1000000000};
	RETURNS(EBUSY, pthread_mutex_trylock(mutex));
	RETURNS(ETIMEDOUT, pthread_mutex_timedlock(mutex, &past));
	RETURNS(EINVAL, pthread_mutex_timedlock(mutex, &wrong));
	RETURNS(ETIMEDOUT, pthread_mutex_timedlock(mutex, &soon));
	CHECK(has_come(CLOCK_REALTIME, soon));
	soon = from_now(CLOCK_MONOTONIC, 2000000);
	RETURNS(ETIMEDOUT, pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon));
	CHECK(has_come(CLOCK_MONOTONIC, soon));
	RETURNS(EINVAL, pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &soon));
	return NULL;
}

static void *unlock_others(void *mutex) {
	RETURNS(EPERM, pthread_mutex_unlock(mutex));
	return NULL;
}

static void in_another(void *(*body)(void *), pthread_mutex_t *mutex) {
	pthread_t thread;
	RETURNS(0, pthread_create(&thread, NULL, body, mutex));
	RETURNS(0, pthread_join(thread, NULL));
}

static void held_is_busy(const char *name, pthread_mutex_t *mutex) {
	RETURNS(0, pthread_mutex_lock(mutex));
	in_another(try_held, mutex);
	RETURNS(0, pthread_mutex_unlock(mutex));
	RETURNS(0, pthread_mutex_trylock(mutex));
	RETURNS(0, pthread_mutex_unlock(mutex));
	printf("%s is busy while held\n", name);
}

static void recursion(void) {
	RETURNS(0, pthread_mutex_lock(&recursive));
	RETURNS(0, pthread_mutex_lock(&recursive));
	RETURNS(0, pthread_mutex_trylock(&recursive));
	in_another(unlock_others, &recursive);
	for (int i = 0; i < 3; i++) {
		in_another(try_held, &recursive);
		RETURNS(0, pthread_mutex_unlock(&recursive));
	}
	RETURNS(EPERM, pthread_mutex_unlock(&recursive));
	puts("recursive counts");
}

static void checks(void) {
	struct timespec soon = from_now(CLOCK_REALTIME, 1000000);
	RETURNS(EPERM, pthread_mutex_unlock(&checking));
	RETURNS(0, pthread_mutex_lock(&checking));
	RETURNS(EDEADLK, pthread_mutex_lock(&checking));
	RETURNS(EDEADLK, pthread_mutex_timedlock(&checking, &soon));
	RETURNS(EBUSY, pthread_mutex_trylock(&checking));
	in_another(unlock_others, &checking);
	RETURNS(0, pthread_mutex_unlock(&checking));
	puts("error-checking checks");
}

static void initialised(int type) {
	pthread_mutex_t mutex;
	pthread_mutexattr_t attr;
	RETURNS(0, pthread_mutexattr_init(&attr));
	RETURNS(0, pthread_mutexattr_settype(&attr, type));
	RETURNS(0, pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	RETURNS(0, pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	memset(&mutex, 0xa5, sizeof mutex);
	RETURNS(0, pthread_mutex_init(&mutex, &attr));
	RETURNS(0, pthread_mutexattr_destroy(&attr));
	RETURNS(0, pthread_mutex_lock(&mutex));
	RETURNS(EBUSY, pthread_mutex_destroy(&mutex));
	if (type == PTHREAD_MUTEX_RECURSIVE) {
		RETURNS(0, pthread_mutex_lock(&mutex));
		RETURNS(0, pthread_mutex_unlock(&mutex));
	} else if (type == PTHREAD_MUTEX_ERRORCHECK) {
		RETURNS(EDEADLK, pthread_mutex_lock(&mutex));
	}
	RETURNS(0, pthread_mutex_unlock(&mutex));
	RETURNS(0, pthread_mutex_destroy(&mutex));
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	excludes("normal", &normal);
	excludes("recursive", &recursive);
	excludes("error-checking", &checking);
	excludes("adaptive", &adaptive);
	held_is_busy("normal", &normal);
	held_is_busy("adaptive", &adaptive);
	recursion();
	checks();
	initialised(PTHREAD_MUTEX_NORMAL);
	initialised(PTHREAD_MUTEX_RECURSIVE);
	initialised(PTHREAD_MUTEX_ERRORCHECK);
	puts("attributes are heard");
	return 0;
}
