/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cancellation, clean-up handlers, and what the end of a thread leaves. */
#define _GNU_SOURCE
#include "says.h"

static char order[16];
static volatile int length, ready, went_on, stop, codes;
static pthread_key_t key;
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_calls, ends[2];

static void note(void *letter)
{
	order[length++] = *(char *)letter;
}

static int is_noted(const char *expected)
{
	int same = length == (int)strlen(expected) && !memcmp(order, expected, length);

	length = 0;
	return same;
}

static void *exit_with_handlers(void *value)
{
	pthread_setspecific(key, "k");
	pthread_cleanup_push(note, "a");
	pthread_cleanup_push(note, "b");
	pthread_exit(value);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *pop(void *unused)
{
	pthread_cleanup_push(note, "a");
	pthread_cleanup_push(note, "b");
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(0);
	return unused;
}

static void *sleep_with_handlers(void *unused)
{
	pthread_setspecific(key, "k");
	pthread_cleanup_push(note, "a");
	pthread_cleanup_push(note, "b");
	ready = 1;
	for (;;)
		sleep(100);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return unused;
}

static void *until_told(void *unused)
{
	int state = -1, type = -1;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	codes = state == PTHREAD_CANCEL_ENABLE && type == PTHREAD_CANCEL_DEFERRED;
	ready = 1;
	while (!stop)
		usleep(1000);
	pthread_testcancel();
	went_on = 1;
	codes = codes && !pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state) && state == PTHREAD_CANCEL_DISABLE;
	went_on = 2;
	pthread_testcancel();
	went_on = 3;
	return unused;
}

static void *compute(void *unused)
{
	codes = !pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	ready = 1;
	while (!stop)
		;
	return unused;
}

static void *join_it(void *thread)
{
	ready = 1;
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

static void *until_stop(void *unused)
{
	(void)unused;
	while (!stop)
		usleep(1000);
	return (void *)9;
}

static void *keep_the_mutex(void *unused)
{
	pthread_mutex_lock(&kept);
	return unused;
}

static void sleep_the_first_time(void)
{
	if (once_calls++ == 0) {
		ready = 1;
		sleep(100);
	}
}

static void *do_once(void *unused)
{
	pthread_once(&once, sleep_the_first_time);
	return unused;
}

static pthread_t start(void *(*body)(void *), void *argument)
{
	ready = stop = went_on = codes = 0;
	pthread_t thread = begin(body, argument);
	while (!ready)
		usleep(1000);
	return thread;
}

static int ends_cancelled(pthread_t thread)
{
	void *value = NULL;

	return !pthread_join(thread, &value) && value == PTHREAD_CANCELED;
}

static void handlers(void)
{
	pthread_t thread = begin(exit_with_handlers, &ends);
	pthread_join(thread, NULL);
	SAYS("pthread_exit 2,3 pthread_cleanup_push 1,2", "runs the handlers, the last first, then destructors", is_noted("bak"));
	elsewhere(pop, NULL);
	SAYS("pthread_cleanup_pop 1,2", "takes the handler off, and runs it if it is told to", is_noted("b"));
	thread = start(sleep_with_handlers, NULL);
	settle();
	SAYS("pthread_cancel 4", "succeeds", pthread_cancel(thread) == 0);
	SAYS("pthread_cancel 1", "ends a thread where it sleeps", ends_cancelled(thread));
	SAYS("pthread_cancel 2 pthread_cleanup_push 1", "runs the handlers, then destructors", is_noted("bak"));
	elsewhere(keep_the_mutex, NULL);
	SAYS("pthread_exit 4", "lets no mutex go", pthread_mutex_trylock(&kept) == EBUSY);
}

static void states(void)
{
	pthread_t thread = start(until_told, NULL);
	SAYS("pthread_cancel 3", "does not wait for the thread's end", !pthread_cancel(thread) && !went_on);
	settle();
	stop = 1;
	int ended = ends_cancelled(thread);
	SAYS("pthread_setcancelstate 1,3", "puts cancellation off, and gives the old state", ended && codes);
	SAYS("pthread_testcancel 2", "does nothing while it is put off", went_on >= 1);
	SAYS("pthread_testcancel 1", "is where it happens then", ended && went_on == 2);
	SAYS("pthread_setcancelstate 2", "is enabled in a new thread", codes);
	SAYS("pthread_setcanceltype 2", "is deferred in a new thread", codes);
	SAYS("pthread_setcancelstate 3", "refuses what is neither", pthread_setcancelstate(77, NULL) == EINVAL);
	SAYS("pthread_setcanceltype 3", "refuses what is neither", pthread_setcanceltype(77, NULL) == EINVAL);
	thread = start(compute, NULL);
	pthread_cancel(thread);
	SAYS("pthread_setcanceltype 1,3", "at any time, ends a thread that computes", ends_cancelled(thread) && codes);
}

static void joins(void)
{
	stop = 0;
	pthread_t target = begin(until_stop, NULL);
	pthread_t joiner = start(join_it, &target);
	void *value = NULL;

	settle();
	pthread_cancel(joiner);
	int ended = ends_cancelled(joiner);
	stop = 1;
	SAYS("pthread_join 1,3,4", "that is cancelled leaves the thread to be joined", ended && !pthread_join(target, &value) && value == (void *)9);
	pthread_t thread = start(do_once, NULL);
	settle();
	pthread_cancel(thread);
	ended = ends_cancelled(thread);
	pthread_once(&once, sleep_the_first_time);
	pthread_once(&once, sleep_the_first_time);
	SAYS("pthread_once 3", "that is cancelled has not been called", ended && once_calls == 2);
}

static void *outlive(void *unused)
{
	char byte = 0;

	settle();
	SAYS("pthread_exit 4", "closes no descriptor", write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
	SAYS("pthread_exit 6", "of the main thread lets others go on", 1);
	return unused;
}

int main(void)
{
	pthread_key_create(&key, note);
	handlers();
	states();
	joins();
	if (pipe(ends) != 0)
		return 1;
	begin(outlive, NULL);
	pthread_exit(&ends);
}
