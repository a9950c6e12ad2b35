/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cleanup handlers: order, conditions, pop, pthread_exit within them, thrd_exit, and what comes afterwards. */
#define _GNU_SOURCE
#include "../signals/check.h"
#include <threads.h>

static char told[32];
static volatile int length;
static pthread_key_t key;
static tss_t c11_key;

static void tell(void *letter) { told[length++] = *(char *)letter; }

static void is_told(const char *expected)
{
	CHECK(length == (int)strlen(expected) && !memcmp(told, expected, length));
	length = 0;
}

static void *pops(void *unused)
{
	pthread_cleanup_push(tell, "a");
	pthread_cleanup_push(tell, "b");
	pthread_cleanup_push(tell, "c");
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(1);
	return unused;
}

static void *exits(void *value)
{
	pthread_setspecific(key, "k");
	pthread_cleanup_push(tell, "a");
	pthread_cleanup_push(tell, "b");
	pthread_exit(value);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void tell_and_sleep(void *letter)
{
	/* Whoever is being cancelled is not cancelled once more. */
	usleep(10);
	pthread_testcancel();
	tell(letter);
}

static void *cancels_itself(void *unused)
{
	pthread_cleanup_push(tell, "a");
	pthread_cleanup_push(tell_and_sleep, "b");
	CHECK(pthread_cancel(pthread_self()) == 0);
	pthread_testcancel();
	tell("!");
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return unused;
}

static void *waits(void *unused)
{
	pthread_cleanup_push(tell, "w");
	pthread_cleanup_push_defer_np(tell, "d");
	for (;;)
		sleep(100);
	pthread_cleanup_pop_restore_np(0);
	pthread_cleanup_pop(0);
	return unused;
}

static int c11(void *value)
{
	tss_set(c11_key, "k");
	thrd_exit(*(int *)value);
}

int main(void)
{
	pthread_t thread;
	thrd_t other;
	void *value;
	int result, seven = 7;

	CHECK(pthread_key_create(&key, tell) == 0);
	CHECK(tss_create(&c11_key, tell) == thrd_success);
	CHECK(pthread_create(&thread, NULL, pops, NULL) == 0 && pthread_join(thread, NULL) == 0);
	is_told("ca");
	CHECK(pthread_create(&thread, NULL, exits, &seven) == 0 && pthread_join(thread, &value) == 0);
	CHECK(value == &seven);
	is_told("bak");
	CHECK(pthread_create(&thread, NULL, cancels_itself, NULL) == 0 && pthread_join(thread, &value) == 0);
	CHECK(value == PTHREAD_CANCELED);
	is_told("ba");
	CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
	a_while();
	CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED);
	is_told("dw");
	CHECK(thrd_create(&other, c11, &seven) == thrd_success && thrd_join(other, &result) == thrd_success);
	CHECK(result == 7);
	is_told("k");
	puts("cleanup handlers are right");
	return 0;
}
