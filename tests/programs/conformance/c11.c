/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"
#include <threads.h>

static mtx_t mutex;
static cnd_t cond;
static tss_t own;
static once_flag flag = ONCE_FLAG_INIT;
static int begun, ready, destroyed;
static thrd_t starter;

static int give_back(void *value)
{
	return (int)(intptr_t)value;
}

static int leave(void *value)
{
	thrd_exit((int)(intptr_t)value);
}

static int try_it(void *lock)
{
	int code = mtx_trylock(lock);

	if (code == thrd_success)
		mtx_unlock(lock);
	return code;
}

static int timed_it(void *lock)
{
	struct timespec until = from_now(CLOCK_REALTIME, 10);

	return mtx_timedlock(lock, &until) == thrd_timedout && has_come(CLOCK_REALTIME, until);
}

static int is_starter(void *unused)
{
	(void)unused;
	return thrd_equal(thrd_current(), starter);
}

static void begin_once(void)
{
	begun++;
}

static int do_once(void *unused)
{
	(void)unused;
	call_once(&flag, begin_once);
	return 0;
}

static void destroy(void *value)
{
	destroyed += (int)(intptr_t)value;
}

static int use_own(void *unused)
{
	(void)unused;
	int empty = tss_get(own) == NULL;
	tss_set(own, (void *)4);
	return empty && tss_get(own) == (void *)4;
}

static int wait_until_ready(void *unused)
{
	(void)unused;
	mtx_lock(&mutex);
	while (!ready)
		cnd_wait(&cond, &mutex);
	mtx_unlock(&mutex);
	return 1;
}

static int in_thread(thrd_start_t body, void *argument)
{
	thrd_t thread;
	int value = -1;

	thrd_create(&thread, body, argument);
	thrd_join(thread, &value);
	return value;
}

int main(void)
{
	thrd_t threads[3];
	mtx_t recursive, timed;
	int value = 0, sum = 0;
	struct timespec until, nap = {0, 1000000};

	SAYS("thrd_create", "begins a thread with its argument", thrd_create(&threads[0], give_back, (void *)-5) == thrd_success);
	SAYS("thrd_join", "gives what the thread returned", thrd_join(threads[0], &value) == thrd_success && value == -5);
	SAYS("thrd_exit", "ends the thread with its value", in_thread(leave, (void *)6) == 6);
	starter = thrd_current();
	SAYS("thrd_current", "tells threads apart", in_thread(is_starter, NULL) == 0 && is_starter(NULL) == 1);
	thrd_create(&threads[0], give_back, NULL);
	SAYS("thrd_detach", "succeeds", thrd_detach(threads[0]) == thrd_success);
	SAYS("thrd_sleep", "sleeps as long as it is told", (until = from_now(CLOCK_MONOTONIC, 1), thrd_sleep(&nap, NULL) == 0) && has_come(CLOCK_MONOTONIC, until));
	thrd_yield();

	SAYS("mtx_init", "gives a free mutex", mtx_init(&mutex, mtx_plain) == thrd_success && in_thread(try_it, &mutex) == thrd_success);
	SAYS("mtx_lock", "gets it", mtx_lock(&mutex) == thrd_success);
	SAYS("mtx_trylock", "fails while another has it", in_thread(try_it, &mutex) == thrd_busy);
	SAYS("mtx_unlock", "lets it go", mtx_unlock(&mutex) == thrd_success && in_thread(try_it, &mutex) == thrd_success);
	mtx_init(&timed, mtx_timed);
	mtx_lock(&timed);
	SAYS("mtx_timedlock", "gives up at its time", in_thread(timed_it, &timed) == 1);
	mtx_unlock(&timed);
	mtx_init(&recursive, mtx_plain | mtx_recursive);
	mtx_lock(&recursive);
	SAYS("mtx_lock", "a recursive mutex can be locked again", mtx_lock(&recursive) == thrd_success);
	mtx_unlock(&recursive);
	SAYS("mtx_unlock", "a recursive mutex is held until the last", in_thread(try_it, &recursive) == thrd_busy);
	mtx_unlock(&recursive);
	mtx_destroy(&recursive);

	SAYS("cnd_init", "succeeds", cnd_init(&cond) == thrd_success);
	mtx_lock(&mutex);
	until = from_now(CLOCK_REALTIME, 10);
	SAYS("cnd_timedwait", "gives up at its time", cnd_timedwait(&cond, &mutex, &until) == thrd_timedout && has_come(CLOCK_REALTIME, until));
	mtx_unlock(&mutex);
	for (int i = 0; i < 3; i++)
		thrd_create(&threads[i], wait_until_ready, NULL);
	settle();
	mtx_lock(&mutex);
	ready = 1;
	mtx_unlock(&mutex);
	SAYS("cnd_signal", "succeeds", cnd_signal(&cond) == thrd_success);
	SAYS("cnd_broadcast", "succeeds", cnd_broadcast(&cond) == thrd_success);
	for (int i = 0; i < 3; i++) {
		thrd_join(threads[i], &value);
		sum += value;
	}
	SAYS("cnd_wait", "goes on when it is woken", sum == 3);
	cnd_destroy(&cond);

	SAYS("tss_create", "succeeds", tss_create(&own, destroy) == thrd_success);
	tss_set(own, (void *)1);
	SAYS("tss_set", "is each thread's own", in_thread(use_own, NULL) == 1 && tss_get(own) == (void *)1);
	SAYS("tss_create", "the destructor gets the thread's value", destroyed == 4);
	tss_delete(own);
	for (int i = 0; i < 3; i++)
		in_thread(do_once, NULL);
	SAYS("call_once", "calls once", begun == 1);
	return 0;
}
