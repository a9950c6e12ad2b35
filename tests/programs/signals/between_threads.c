/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals for other threads: those that compute, those that wait, and those that block them. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/syscall.h>

static volatile sig_atomic_t caught, stop, ready;
static pthread_t caught_by;
static siginfo_t told;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile pid_t number;

static void count(int signal)
{
	(void)signal;
	caught_by = pthread_self();
	caught++;
}

static void tell(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	told = *info;
	caught_by = pthread_self();
	caught++;
}

static void *compute(void *unused)
{
	number = syscall(SYS_gettid);
	ready = 1;
	while (!caught || !stop)
		;
	return unused;
}

static void to_one_that_computes(void)
{
	pthread_t thread;

	caught = ready = stop = 0;
	CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
	while (!ready)
		;
	CHECK(pthread_kill(thread, 0) == 0);
	CHECK(pthread_kill(thread, SIGUSR1) == 0);
	while (!caught)
		;
	CHECK(pthread_equal(caught_by, thread));
	CHECK(syscall(SYS_tgkill, getpid(), number, SIGUSR1) == 0);
	while (caught < 2)
		;
	CHECK(pthread_equal(caught_by, thread));
	struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
	union sigval value = {.sival_int = 4711};
	CHECK(pthread_sigqueue(thread, SIGUSR2, value) == 0);
	while (caught < 3)
		;
	CHECK(told.si_signo == SIGUSR2 && told.si_code == SI_QUEUE && told.si_value.sival_int == 4711);
	CHECK(told.si_pid == getpid() && told.si_uid == getuid());
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
}

/* What a read of an empty pipe comes to when a handler runs. */
static void *read_pipe(void *expected)
{
	char byte;

	ready = 1;
	if (expected) {
		FAILS(EINTR, read(ends[0], &byte, 1));
	} else {
		CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
	}
	return NULL;
}

static void to_one_that_reads(void)
{
	pthread_t thread;

	CHECK(pipe(ends) == 0);
	for (int fails = 0; fails < 2; fails++) {
		handle(SIGUSR1, count, fails ? 0 : SA_RESTART);
		caught = ready = 0;
		CHECK(pthread_create(&thread, NULL, read_pipe, fails ? &lock : NULL) == 0);
		while (!ready)
			;
		a_while();
		CHECK(pthread_kill(thread, SIGUSR1) == 0);
		a_while();
		CHECK(caught == 1 && pthread_equal(caught_by, thread));
		if (!fails)
			CHECK(write(ends[1], "x", 1) == 1);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

static void *take_lock(void *unused)
{
	ready = 1;
	CHECK(pthread_mutex_lock(&lock) == 0);
	CHECK(caught == 1);
	CHECK(pthread_mutex_unlock(&lock) == 0);
	return unused;
}

static void to_one_that_waits_for_a_lock(void)
{
	pthread_t thread;

	caught = ready = 0;
	CHECK(pthread_mutex_lock(&lock) == 0);
	CHECK(pthread_create(&thread, NULL, take_lock, NULL) == 0);
	while (!ready)
		;
	a_while();
	CHECK(pthread_kill(thread, SIGUSR1) == 0);
	a_while();
	CHECK(caught == 1 && pthread_equal(caught_by, thread));
	CHECK(pthread_mutex_unlock(&lock) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void *blocking(void *unused)
{
	sigset_t pending;

	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	ready = 1;
	while (!stop)
		;
	CHECK(caught == 0);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) && !sigismember(&pending, SIGUSR2));
	block(SIG_UNBLOCK, SIGUSR1, 0);
	CHECK(caught == 1);
	return unused;
}

static void to_one_that_blocks_it(void)
{
	pthread_t thread;
	sigset_t pending;

	caught = ready = stop = 0;
	CHECK(pthread_create(&thread, NULL, blocking, NULL) == 0);
	while (!ready)
		;
	CHECK(pthread_kill(thread, SIGUSR1) == 0 && pthread_kill(thread, SIGUSR1) == 0);
	CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGUSR1));
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_equal(caught_by, thread));
}

/* The process's signal goes to a thread that does not block it, and waits while all do. */
static void to_the_process(void)
{
	pthread_t thread;

	caught = ready = stop = 0;
	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	a_while();
	CHECK(caught == 0);
	block(SIG_UNBLOCK, SIGUSR1, 0);
	CHECK(caught == 1 && pthread_equal(caught_by, pthread_self()));
	CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
	while (!ready)
		;
	block(SIG_BLOCK, SIGUSR1, 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	while (caught < 2)
		;
	CHECK(pthread_equal(caught_by, thread));
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
}

static void *inherit(void *unused)
{
	sigset_t mask, pending;

	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1));
	CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGUSR1));
	return unused;
}

static void a_new_thread(void)
{
	pthread_t thread;

	caught = 0;
	block(SIG_BLOCK, SIGUSR1, 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(pthread_create(&thread, NULL, inherit, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	block(SIG_UNBLOCK, SIGUSR1, 0);
	CHECK(caught == 1);
}

int main(void)
{
	pthread_t thread = pthread_self();

	handle(SIGUSR1, count, SA_RESTART);
	to_one_that_computes();
	to_one_that_reads();
	handle(SIGUSR1, count, SA_RESTART);
	to_one_that_waits_for_a_lock();
	to_one_that_blocks_it();
	to_the_process();
	a_new_thread();
	CHECK(pthread_kill(thread, 1000) == EINVAL);
	puts("signals between threads are right");
	return 0;
}
