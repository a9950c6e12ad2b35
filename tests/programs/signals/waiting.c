/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait for signals: sigwait and its like, sigsuspend, pause; and which calls a handler ends. */
#define _GNU_SOURCE
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

static volatile sig_atomic_t caught, ready;
static sem_t sem;

static void count(int signal)
{
	(void)signal;
	caught++;
}

static void *wait_for_one(void *got)
{
	sigset_t set = set_of(SIGUSR1, SIGUSR2);

	ready = 1;
	CHECK(sigwait(&set, got) == 0);
	return NULL;
}

static void by_sigwait(void)
{
	pthread_t thread;
	int got = 0;

	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	ready = 0;
	CHECK(pthread_create(&thread, NULL, wait_for_one, &got) == 0);
	while (!ready)
		;
	a_while();
	CHECK(kill(getpid(), SIGUSR2) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && got == SIGUSR2);
	CHECK(raise(SIGUSR1) == 0);
	sigset_t set = set_of(SIGUSR1, 0), pending;
	CHECK(sigwait(&set, &got) == 0 && got == SIGUSR1);
	CHECK(sigpending(&pending) == 0 && sigisemptyset(&pending));
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
}

static void queued(void)
{
	int low = SIGRTMIN, high = SIGRTMIN + 1;
	sigset_t set = set_of(low, high);
	siginfo_t info;

	block(SIG_BLOCK, low, high);
	for (int i = 0; i < 3; i++) {
		CHECK(sigqueue(getpid(), high, (union sigval){.sival_int = 10 + i}) == 0);
		CHECK(sigqueue(getpid(), low, (union sigval){.sival_int = i}) == 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK(sigwaitinfo(&set, &info) == low && info.si_value.sival_int == i && info.si_code == SI_QUEUE);
	for (int i = 0; i < 3; i++)
		CHECK(sigwaitinfo(&set, &info) == high && info.si_value.sival_int == 10 + i);
	struct timespec none = {0, 0}, some = {0, 2000000};
	FAILS(EAGAIN, sigtimedwait(&set, NULL, &none));
	FAILS(EAGAIN, sigtimedwait(&set, NULL, &some));
	some.tv_nsec = -1;
	FAILS(EINVAL, sigtimedwait(&set, NULL, &some));
	block(SIG_UNBLOCK, low, high);
}

static pthread_t waiter;

static void *signal_waiter(void *number)
{
	a_while();
	CHECK(pthread_kill(waiter, *(int *)number) == 0);
	return NULL;
}

/* Does `call` end with EINTR, the handler having run? */
#define INTERRUPTED(call)                                                                         \
	do {                                                                                          \
		pthread_t thread_;                                                                        \
		int number_ = SIGUSR1;                                                                    \
		caught = 0;                                                                               \
		CHECK(pthread_create(&thread_, NULL, signal_waiter, &number_) == 0);                      \
		FAILS(EINTR, call);                                                                       \
		CHECK(caught == 1);                                                                       \
		CHECK(pthread_join(thread_, NULL) == 0);                                                  \
	} while (0)

static void interrupted(int flags)
{
	struct timespec time = {10, 0}, left = {0, 0}, until;
	struct timeval wait = {10, 0};
	sigset_t none, set = set_of(SIGUSR2, 0), usr1 = set_of(SIGUSR1, 0);
	int ends[2], epoll = epoll_create1(0);

	CHECK(pipe(ends) == 0 && epoll >= 0);
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};
	struct epoll_event event;
	sigemptyset(&none);
	handle(SIGUSR1, count, flags);
	INTERRUPTED(pause());
	INTERRUPTED(sigsuspend(&none));
	INTERRUPTED(sigwaitinfo(&set, NULL));
	INTERRUPTED(sigtimedwait(&set, NULL, &time));
	INTERRUPTED(nanosleep(&time, &left));
	CHECK(left.tv_sec == 9 && left.tv_nsec > 900000000);
	INTERRUPTED(usleep(10000000));
	INTERRUPTED(poll(&fd, 1, 10000));
	INTERRUPTED(poll(NULL, 0, 10000));
	INTERRUPTED(select(0, NULL, NULL, NULL, &wait));
	INTERRUPTED(epoll_wait(epoll, &event, 1, 10000));
	CHECK(clock_gettime(CLOCK_REALTIME, &until) == 0);
	until.tv_sec += 10;
	INTERRUPTED(sem_timedwait(&sem, &until));
	block(SIG_BLOCK, SIGUSR1, 0);
	INTERRUPTED(ppoll(&fd, 1, &time, &none));
	INTERRUPTED(pselect(0, NULL, NULL, NULL, &time, &none));
	INTERRUPTED(epoll_pwait(epoll, &event, 1, 10000, &none));
	sigset_t now;
	CHECK(pthread_sigmask(SIG_BLOCK, &usr1, &now) == 0 && sigismember(&now, SIGUSR1));
	block(SIG_UNBLOCK, SIGUSR1, 0);
	close(ends[0]), close(ends[1]), close(epoll);
}

static void *post_later(void *unused)
{
	a_while();
	CHECK(pthread_kill(waiter, SIGUSR1) == 0);
	a_while();
	CHECK(sem_post(&sem) == 0);
	return unused;
}

static void goes_on(void)
{
	pthread_t thread;

	handle(SIGUSR1, count, SA_RESTART);
	caught = 0;
	CHECK(pthread_create(&thread, NULL, post_later, NULL) == 0);
	CHECK(sem_wait(&sem) == 0 && caught == 1);
	CHECK(pthread_join(thread, NULL) == 0);
	handle(SIGUSR1, count, 0);
	INTERRUPTED(sem_wait(&sem));
}

/* sleep() says what is left; sigsuspend() gives the mask back. */
static void rest(void)
{
	pthread_t thread;
	int number = SIGUSR1;

	caught = 0;
	CHECK(pthread_create(&thread, NULL, signal_waiter, &number) == 0);
	CHECK(sleep(20) == 19 && caught == 1);
	CHECK(pthread_join(thread, NULL) == 0);
	sigset_t mask = set_of(SIGUSR2, 0), now;
	block(SIG_BLOCK, SIGUSR1, 0);
	CHECK(raise(SIGUSR1) == 0 && caught == 1);
	FAILS(EINTR, sigsuspend(&mask));
	CHECK(caught == 2);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
	block(SIG_UNBLOCK, SIGUSR1, 0);
}

int main(void)
{
	waiter = pthread_self();
	CHECK(sem_init(&sem, 0, 0) == 0);
	by_sigwait();
	queued();
	interrupted(0);
	interrupted(SA_RESTART);
	goes_on();
	rest();
	puts("waits for signals are right");
	return 0;
}
