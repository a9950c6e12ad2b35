/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* C11 threads, mutexes, conditions, thread-specific storage and call_once. */
#include "check.h"
#include <threads.h>
#include <time.h>

enum { ROUNDS = 1000, MOST_THREADS = 128 };
static mtx_t mutex;
static cnd_t changed;
static tss_t own;
static once_flag flag = ONCE_FLAG_INIT;
static int threads, counter, once_runs, destroyed, turn;

static void run_once(void) { once_runs++; }

static void destroy(void *value) {
	mtx_lock(&mutex);
	destroyed += *(int *)value;
	mtx_unlock(&mutex);
}

static int work(void *arg) {
	static thread_local int one;
	one = 1;
	int me = *(int *)arg;
	call_once(&flag, run_once);
	CHECK(tss_set(own, &one) == thrd_success && tss_get(own) == &one);
	for (int i = 0; i < ROUNDS / threads; i++) {
		CHECK(mtx_lock(&mutex) == thrd_success);
		counter++;
		CHECK(mtx_unlock(&mutex) == thrd_success);
	}
	CHECK(mtx_lock(&mutex) == thrd_success);
	while (turn != me)
		CHECK(cnd_wait(&changed, &mutex) == thrd_success);
	turn++;
	CHECK(cnd_broadcast(&changed) == thrd_success);
	CHECK(mtx_unlock(&mutex) == thrd_success);
	if (me % 2)
		thrd_exit(-me);
	return -me;
}

static int against_held(void *unused) {
	(void)unused;
	struct timespec soon;
	timespec_get(&soon, TIME_UTC);
	CHECK(mtx_trylock(&mutex) == thrd_busy);
	CHECK(mtx_timedlock(&mutex, &soon) == thrd_timedout);
	return 0;
}

int main(int argc, char **argv) {
	threads = argc > 1 ? atoi(argv[1]) : 8;
	thrd_t all[MOST_THREADS];
	int numbers[MOST_THREADS], result;
	CHECK(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&changed) == thrd_success);
	CHECK(tss_create(&own, destroy) == thrd_success);
	for (int i = 0; i < threads; i++) {
		numbers[i] = i;
		CHECK(thrd_create(&all[i], work, &numbers[i]) == thrd_success);
	}
	for (int i = 0; i < threads; i++)
		CHECK(thrd_join(all[i], &result) == thrd_success && result == -i);
	CHECK(counter == ROUNDS / threads * threads && turn == threads && once_runs == 1 && destroyed == threads);
	puts("threads, mutexes, conditions");

	CHECK(mtx_lock(&mutex) == thrd_success);
	CHECK(thrd_create(&all[0], against_held, NULL) == thrd_success);
	CHECK(thrd_join(all[0], NULL) == thrd_success);
	struct timespec soon;
	timespec_get(&soon, TIME_UTC);
	CHECK(cnd_timedwait(&changed, &mutex, &soon) == thrd_timedout);
	CHECK(mtx_unlock(&mutex) == thrd_success);
	mtx_destroy(&mutex);
	CHECK(mtx_init(&mutex, mtx_plain | mtx_recursive) == thrd_success);
	CHECK(mtx_lock(&mutex) == thrd_success && mtx_trylock(&mutex) == thrd_success);
	CHECK(mtx_unlock(&mutex) == thrd_success && mtx_unlock(&mutex) == thrd_success);
	cnd_destroy(&changed);
	tss_delete(own);
	puts("busy, timed out, recursive");
	return 0;
}
