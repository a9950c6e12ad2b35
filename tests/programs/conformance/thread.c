/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"
#include <limits.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key, other;
static int begun, destroyed, rounds, cleaned;
static pthread_t main_thread;
static int told;

static void *give_back(void *argument)
{
	return argument;
}

static void *leave(void *value)
{
	pthread_exit(value);
}

static void clean(void *flag)
{
	*(int *)flag = 1;
}

static void *leave_with_handlers(void *value)
{
	pthread_cleanup_push(clean, &cleaned);
	pthread_exit(value);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *own_id(void *unused)
{
	(void)unused;
	return (void *)pthread_self();
}

/* Until it is told to end. */
static void *rest(void *told)
{
	while (!__atomic_load_n((int *)told, __ATOMIC_SEQ_CST))
		usleep(1000);
	return NULL;
}

static void begin_once(void)
{
	usleep(1000);
	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
}

static void *do_once(void *unused)
{
	(void)unused;
	pthread_once(&once, begin_once);
	return (void *)(intptr_t)__atomic_load_n(&begun, __ATOMIC_SEQ_CST);
}

static void destroy(void *value)
{
	destroyed += (int)(intptr_t)value;
}

/* Sets the value anew, as often as it is asked to. */
static void insist(void *value)
{
	rounds++;
	pthread_setspecific(other, value);
}

static void *use_keys(void *unused)
{
	(void)unused;
	int empty = pthread_getspecific(key) == NULL;
	pthread_setspecific(key, (void *)7);
	pthread_setspecific(other, (void *)1);
	return (void *)(intptr_t)(empty && pthread_getspecific(key) == (void *)7);
}

static void nothing(void)
{
}

static void joins(void)
{
	pthread_t thread;
	void *value = NULL;

	SAYS("pthread_create 1,4,5,12", "begins a thread with its argument", !pthread_create(&thread, NULL, give_back, (void *)5));
	SAYS("pthread_join 2,5 pthread_create 6 pthread_exit 5", "gives what the thread returned", !pthread_join(thread, &value) && value == (void *)5);
	thread = begin(leave, (void *)6);
	SAYS("pthread_exit 1", "ends the thread with its value", !pthread_join(thread, &value) && value == (void *)6);
	thread = begin(leave_with_handlers, NULL);
	pthread_join(thread, NULL);
	SAYS("pthread_exit 2", "runs the clean-up handlers", cleaned == 1);
	thread = begin(own_id, NULL);
	pthread_join(thread, &value);
	SAYS("pthread_self 1", "is the number that pthread_create gave", pthread_equal((pthread_t)value, thread));
	SAYS("pthread_equal 1", "tells threads apart", !pthread_equal(thread, pthread_self()) && pthread_equal(main_thread, pthread_self()));
	SAYS("pthread_join 6", "refuses the caller itself", pthread_join(pthread_self(), NULL) == EDEADLK);
	thread = begin(rest, &told);
	SAYS("pthread_tryjoin_np", "fails while the thread runs", pthread_tryjoin_np(thread, NULL) == EBUSY);
	struct timespec until = from_now(CLOCK_REALTIME, 1);
	SAYS("pthread_timedjoin_np", "gives up at its time", pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT && has_come(CLOCK_REALTIME, until));
	until = from_now(CLOCK_MONOTONIC, 1);
	SAYS("pthread_clockjoin_np", "gives up at its time on the clock named", pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	until = from_now(CLOCK_REALTIME, 60000);
	__atomic_store_n(&told, 1, __ATOMIC_SEQ_CST);
	SAYS("pthread_timedjoin_np", "gives what the thread returned, in time", pthread_timedjoin_np(thread, &value, &until) == 0 && value == NULL);
	static int never;
	thread = begin(rest, &never);
	SAYS("pthread_detach 2,3", "succeeds while the thread runs", pthread_detach(thread) == 0);
	SAYS("pthread_detach 4", "refuses a thread that is detached", pthread_detach(thread) == EINVAL);
	SAYS("pthread_join 6 pthread_detach 1", "refuses a thread that is detached", pthread_join(thread, NULL) == EINVAL);
}

static void keys(void)
{
	SAYS("pthread_key_create 5", "succeeds", !pthread_key_create(&key, destroy) && !pthread_key_create(&other, insist));
	SAYS("pthread_getspecific 3 pthread_key_create 2", "is empty at first", pthread_getspecific(key) == NULL);
	SAYS("pthread_setspecific 1,3 pthread_getspecific 1 pthread_key_create 1", "is each thread's own", !pthread_setspecific(key, (void *)3) && elsewhere(use_keys, NULL) == 1 && pthread_getspecific(key) == (void *)3);
	SAYS("pthread_key_create 3", "the destructor gets the thread's value", destroyed == 7);
	SAYS("pthread_key_create 4 pthread_setspecific 2", "destructors that set values again are called a few rounds", rounds >= 4);
	SAYS("pthread_key_delete 3", "succeeds", !pthread_key_delete(key) && !pthread_key_delete(other));
	SAYS("pthread_key_delete 3", "refuses a key that is gone", pthread_key_delete(key) == EINVAL);
	SAYS("pthread_setspecific 3", "refuses a key that is gone", pthread_setspecific(key, NULL) == EINVAL);
	static pthread_key_t many[2000];
	int made = 0;
	while (made < 2000 && pthread_key_create(&many[made], NULL) == 0)
		made++;
	SAYS("pthread_key_create 5", "has room for what the standard asks, and a limit", made >= _POSIX_THREAD_KEYS_MAX && made <= PTHREAD_KEYS_MAX);
	while (made > 0)
		pthread_key_delete(many[--made]);
}

int main(void)
{
	pthread_t threads[4];
	void *seen[4];
	clockid_t clock;
	struct timespec used;

	main_thread = pthread_self();
	joins();
	keys();
	for (int i = 0; i < 4; i++)
		threads[i] = begin(do_once, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], &seen[i]);
	SAYS("pthread_once 1,4,5", "calls the routine once", begun == 1);
	SAYS("pthread_once 2", "returns when it has been called", seen[0] && seen[1] && seen[2] && seen[3]);
	SAYS("pthread_getcpuclockid 1,2", "gives a clock that can be read", !pthread_getcpuclockid(pthread_self(), &clock) && !clock_gettime(clock, &used));
	char name[16] = "";
	SAYS("pthread_setname_np", "is kept", !pthread_setname_np(pthread_self(), "fifteen letters") && !pthread_getname_np(pthread_self(), name, 16) && !strcmp(name, "fifteen letters"));
	SAYS("pthread_setname_np", "refuses what is too long", pthread_setname_np(pthread_self(), "sixteen letters!") == ERANGE);
	SAYS("pthread_getname_np", "refuses too little room", pthread_getname_np(pthread_self(), name, 4) == ERANGE);
	SAYS("pthread_atfork 3", "takes handlers", pthread_atfork(nothing, nothing, nothing) == 0);
	SAYS("pthread_setconcurrency", "is kept", !pthread_setconcurrency(3) && pthread_getconcurrency() == 3);
	SAYS("pthread_setconcurrency", "refuses less than none", pthread_setconcurrency(-1) == EINVAL);
	return 0;
}
