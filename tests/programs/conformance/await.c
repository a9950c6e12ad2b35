/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals that are queued, and threads that wait for one. */
#define _GNU_SOURCE
#include "handlers.h"

static volatile int ready, got;
static pthread_t main_thread;

static void *wait_for_one(void *unused)
{
	sigset_t set = set_of(SIGUSR1, 0);
	int number = 0;

	ready++;
	if (sigwait(&set, &number) == 0 && number == SIGUSR1)
		__atomic_fetch_add(&got, 1, __ATOMIC_SEQ_CST);
	return unused;
}

static void *send_later(void *signal)
{
	settle();
	pthread_kill(main_thread, (int)(intptr_t)signal);
	return NULL;
}

static int queue(int signal, int value)
{
	return sigqueue(getpid(), signal, (union sigval){.sival_int = value});
}

static void queues(int low)
{
	sigset_t set = set_of(low, low + 1);
	siginfo_t info;
	int in_order = 1;

	handle_info(low);
	SAYS("sigqueue 1,4,6,8", "sends a value with it, which comes before it returns", !queue(low, 7) && caught == 1 && told.si_value.sival_int == 7 && told.si_code == SI_QUEUE);
	SAYS("sigqueue 2", "of no signal, only asks", queue(0, 0) == 0 && caught == 1);
	SAYS("sigqueue 10", "refuses what is no signal", FAILS(EINVAL, queue(1000, 0)));
	SAYS("sigqueue 11", "finds no such process", FAILS(ESRCH, sigqueue(0x7ffffff0, 0, (union sigval){0})));
	handle(SIGUSR1, count, 0, 0);
	SAYS("sigqueue 5", "comes without SA_SIGINFO too", !queue(SIGUSR1, 1) && caught == 1);
	block(SIG_BLOCK, low, low + 1);
	for (int i = 0; i < 3; i++)
		if (queue(low + 1, 10 + i) || queue(low, i))
			in_order = 0;
	SAYS("sigwaitinfo 1,2,9 sigqueue 7 sigwait 7", "takes the lowest number first", sigwaitinfo(&set, &info) == low);
	SAYS("sigwaitinfo 5,6,7", "tells of the number, the cause and the value", info.si_signo == low && info.si_code == SI_QUEUE && info.si_value.sival_int == 0);
	for (int i = 1; i < 3; i++)
		in_order = in_order && sigwaitinfo(&set, &info) == low && info.si_value.sival_int == i;
	SAYS("sigaction 29", "queued ones come in order", in_order);
	SAYS("sigwaitinfo 8", "none is pending after the last", !is_pending(low) && is_pending(low + 1));
	SAYS("sigwaitinfo 4", "without a place for it, takes it too", sigwaitinfo(&set, NULL) == low + 1);
	int number = 0;
	SAYS("sigwait 2", "leaves others queued", !sigwait(&set, &number) && number == low + 1 && is_pending(low + 1));
	SAYS("sigwait 1,8", "takes it from what is pending", !sigwait(&set, &number) && !is_pending(low + 1));
	struct timespec none = {0, 0}, some = {0, 5000000}, until = from_now(CLOCK_MONOTONIC, 5);
	SAYS("sigtimedwait 2,5,6", "without time, does not wait", FAILS(EAGAIN, sigtimedwait(&set, NULL, &none)));
	until = from_now(CLOCK_MONOTONIC, 5);
	SAYS("sigtimedwait 1,3,6", "gives up after its time", FAILS(EAGAIN, sigtimedwait(&set, NULL, &some)) && has_come(CLOCK_MONOTONIC, until));
	queue(low, 4);
	SAYS("sigtimedwait 4", "takes what is pending", sigtimedwait(&set, &info, &none) == low && info.si_value.sival_int == 4);
	SAYS("sigtimedwait 5", "refuses what is no time", FAILS(EINVAL, sigtimedwait(&set, NULL, &no_time)));
	block(SIG_UNBLOCK, low, low + 1);
}

static void waits(void)
{
	sigset_t set = set_of(SIGUSR1, 0);
	pthread_t threads[3];
	int number = 0;

	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	raise(SIGUSR1);
	raise(SIGUSR1);
	SAYS("sigwait 3", "takes one of several that are not queued", !sigwait(&set, &number) && !is_pending(SIGUSR1));
	pthread_t sender = begin(send_later, (void *)SIGUSR1);
	SAYS("sigwait 4", "waits for one", sigwait(&set, &number) == 0 && number == SIGUSR1);
	pthread_join(sender, NULL);
	sender = begin(send_later, (void *)SIGUSR1);
	SAYS("sigwaitinfo 3", "waits for one", sigwaitinfo(&set, NULL) == SIGUSR1);
	pthread_join(sender, NULL);
	for (int i = 0; i < 3; i++)
		threads[i] = begin(wait_for_one, NULL);
	while (ready < 3)
		usleep(1000);
	settle();
	kill(getpid(), SIGUSR1);
	settle();
	SAYS("sigwait 6", "gives one to one of those that wait", got == 1);
	kill(getpid(), SIGUSR1);
	settle();
	kill(getpid(), SIGUSR1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	SAYS("sigwait 6", "and another to another", got == 3);
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
	handle(SIGUSR2, count, 0, 0);
	sender = begin(send_later, (void *)SIGUSR2);
	SAYS("sigwaitinfo 3", "is interrupted by a handler", FAILS(EINTR, sigwaitinfo(&set, NULL)) && caught == 1);
	pthread_join(sender, NULL);
}

static void suspends(void)
{
	sigset_t others = set_of(SIGUSR2, 0);

	sigaddset(&others, SIGKILL);
	handle(SIGUSR1, count, 0, 0);
	handle(SIGUSR2, count, 0, 0);
	block(SIG_BLOCK, SIGUSR1, 0);
	raise(SIGUSR1);
	SAYS("sigsuspend 5,6,7", "lets through what its mask does not block", FAILS(EINTR, sigsuspend(&others)) && caught == 1 && last == SIGUSR1);
	SAYS("sigsuspend 1", "has its mask meanwhile", sigismember(&mask_then, SIGUSR2));
	SAYS("sigsuspend 4", "gives the mask back", is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	pthread_t sender = begin(send_later, (void *)SIGUSR1);
	SAYS("sigsuspend 1", "waits for one", FAILS(EINTR, sigsuspend(&others)) && caught == 2);
	pthread_join(sender, NULL);
	block(SIG_UNBLOCK, SIGUSR1, 0);
	sender = begin(send_later, (void *)SIGUSR1);
	SAYS("pause", "waits for a handler", FAILS(EINTR, pause()) && caught == 3);
	pthread_join(sender, NULL);
}

int main(void)
{
	main_thread = pthread_self();
	queues(SIGRTMIN);
	waits();
	suspends();
	return 0;
}
