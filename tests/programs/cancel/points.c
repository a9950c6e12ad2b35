/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that are cancelled at every kind of cancellation point, and where there is none. */
#define _GNU_SOURCE
#include "../signals/check.h"
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <threads.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static volatile int ready, cleaned, ran_on;
static pthread_t sleeper;
static int ends[2], full[2], sockets[2], one = 1, ten = 10;
static pthread_key_t key;
static volatile int destroyed;

static void clean(void *what)
{
	cleaned += *(int *)what;
}

static void unlock(void *mutex) { CHECK(pthread_mutex_unlock(mutex) == 0); }

static struct timespec in_a_while(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += 100;
	return time;
}

static void cond_wait(void)
{
	CHECK(pthread_mutex_lock(&lock) == 0);
	pthread_cleanup_push(unlock, &lock);
	for (;;)
		pthread_cond_wait(&cond, &lock);
	pthread_cleanup_pop(1);
}

static void cond_timedwait(void)
{
	struct timespec time = in_a_while();

	CHECK(pthread_mutex_lock(&lock) == 0);
	pthread_cleanup_push(unlock, &lock);
	for (;;)
		pthread_cond_timedwait(&cond, &lock, &time);
	pthread_cleanup_pop(1);
}

static void wait_sem(void) { sem_wait(&sem); }

static void timedwait_sem(void)
{
	struct timespec time = in_a_while();

	sem_timedwait(&sem, &time);
}

static void join(void) { pthread_join(sleeper, NULL); }

static void read_pipe(void)
{
	char byte;

	if (read(ends[0], &byte, 1))
		return;
}

static void write_pipe(void)
{
	static char much[1 << 16];

	while (write(full[1], much, sizeof(much)) > 0)
		;
}

static void receive(void)
{
	char byte;

	recv(sockets[0], &byte, 1, 0);
}

static void nap(void) { sleep(100); }

static void nanonap(void)
{
	struct timespec time = {100, 0};

	nanosleep(&time, NULL);
}

static void clocknap(void)
{
	struct timespec time = in_a_while();

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL);
}

static void poll_pipe(void)
{
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};

	poll(&fd, 1, 100000);
}

static void select_nothing(void)
{
	struct timeval time = {100, 0};

	select(0, NULL, NULL, NULL, &time);
}

static void epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, 100000);
}

static void wait_signal(void)
{
	sigset_t set = set_of(SIGUSR1, 0);
	int got;

	sigwait(&set, &got);
}

static void pause_here(void) { pause(); }

static void suspend(void)
{
	sigset_t set = set_of(SIGUSR1, 0);

	sigsuspend(&set);
}

static void c11_sleep(void)
{
	struct timespec time = {100, 0};

	thrd_sleep(&time, NULL);
}

static void test_only(void)
{
	for (;;)
		pthread_testcancel();
}

static void open_file(void)
{
	for (;;)
		close(open("/dev/null", O_RDONLY));
}

static void (*const points[])(void) = {
	cond_wait,  cond_timedwait, wait_sem, timedwait_sem,  join,    read_pipe, receive, write_pipe, nap,       nanonap,
	clocknap,   poll_pipe,      epoll,    select_nothing, suspend, wait_signal, pause_here, c11_sleep, test_only, open_file,
};

static void *go_to(void *point)
{
	pthread_setspecific(key, &one);
	pthread_cleanup_push(clean, &ten);
	pthread_cleanup_push(clean, &one);
	ready = 1;
	(*(void (*const *)(void))point)();
	ran_on = 1;
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void destroy(void *value)
{
	destroyed += *(int *)value;
}

static void *sleep_long(void *unused)
{
	sleep(1000);
	return unused;
}

static pthread_t start(void *(*function)(void *), const void *argument)
{
	pthread_t thread;

	ready = ran_on = cleaned = 0;
	CHECK(pthread_create(&thread, NULL, function, (void *)argument) == 0);
	return thread;
}

static void is_cancelled(pthread_t thread)
{
	void *value = NULL;

	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &value) == 0);
	CHECK(value == PTHREAD_CANCELED);
}

static void every_point(int waits)
{
	for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++) {
		destroyed = 0;
		pthread_t thread = start(go_to, &points[i]);
		while (waits && !ready)
			;
		if (waits)
			a_while();
		is_cancelled(thread);
		CHECK(cleaned == (ready ? 11 : 0) && !ran_on);
		CHECK(destroyed == ready);
		CHECK(pthread_mutex_trylock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
	}
}

/* Nothing is taken from others, and the sleeper can still be joined. */
static void what_is_left(void)
{
	int value;

	CHECK(sem_getvalue(&sem, &value) == 0 && value == 0);
	CHECK(sem_post(&sem) == 0 && sem_trywait(&sem) == 0);
	is_cancelled(sleeper);
}

static void *take_held(void *unused)
{
	ready = 1;
	CHECK(pthread_mutex_lock(&held) == 0);
	ran_on = 1;
	CHECK(pthread_mutex_unlock(&held) == 0);
	pthread_testcancel();
	ran_on = 2;
	return unused;
}

static void *disabled(void *unused)
{
	int old;

	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
	ready = 1;
	while (!ran_on)
		usleep(1000);
	pthread_testcancel();
	ran_on = 2;
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old) == 0 && old == PTHREAD_CANCEL_DISABLE);
	ran_on = 3;
	pthread_testcancel();
	ran_on = 4;
	return unused;
}

/* A mutex is no cancellation point, and who disables cancellation is not cancelled. */
static void no_points(void)
{
	CHECK(pthread_mutex_lock(&held) == 0);
	pthread_t thread = start(take_held, NULL);
	while (!ready)
		;
	a_while();
	CHECK(pthread_cancel(thread) == 0);
	a_while();
	CHECK(pthread_mutex_unlock(&held) == 0);
	is_cancelled(thread);
	CHECK(ran_on == 1);
	thread = start(disabled, NULL);
	while (!ready)
		;
	CHECK(pthread_cancel(thread) == 0);
	ran_on = 1;
	is_cancelled(thread);
	CHECK(ran_on == 3);
}

static volatile long turns;

static void *compute(void *cancels_itself)
{
	int old, five = 5;

	pthread_cleanup_push(clean, &five);
	CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
	ready = 1;
	if (cancels_itself)
		pthread_cancel(pthread_self());
	for (;;)
		turns++;
	pthread_cleanup_pop(0);
	return NULL;
}

static void *wait_at_barrier(void *unused)
{
	CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);
	ready = 1;
	pthread_barrier_wait(&barrier);
	return unused;
}

static void at_once(void)
{
	pthread_t thread = start(compute, NULL);

	while (!ready)
		;
	is_cancelled(thread);
	CHECK(cleaned == 5);
	thread = start(compute, &one);
	CHECK(pthread_join(thread, NULL) == 0 && cleaned == 5);
	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	thread = start(wait_at_barrier, NULL);
	while (!ready)
		;
	a_while();
	is_cancelled(thread);
	CHECK(pthread_setcancelstate(77, NULL) == EINVAL && pthread_setcanceltype(77, NULL) == EINVAL);
}

int main(void)
{
	CHECK(pipe(ends) == 0 && pipe(full) == 0 && sem_init(&sem, 0, 0) == 0 && pthread_key_create(&key, destroy) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	sleeper = start(sleep_long, NULL);
	block(SIG_BLOCK, SIGUSR1, 0);
	every_point(1);
	every_point(0);
	what_is_left();
	no_points();
	at_once();
	puts("cancellation is right");
	return 0;
}
