/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals that a thread sends itself, faults that the program handles, and masks. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile sig_atomic_t caught, value;
static sigjmp_buf back;
static char *page;

static void count(int signal)
{
	(void)signal;
	caught++;
}

static void tell(int signal, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(info->si_signo == signal);
	value = signal;
}

static void jump(int signal)
{
	siglongjmp(back, signal);
}

static void mend(int signal, siginfo_t *info, void *context)
{
	CHECK(signal == SIGSEGV && context);
	CHECK((char *)info->si_addr >= page && (char *)info->si_addr < page + 4096);
	CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
	caught++;
}

static void to_itself(void)
{
	struct sigaction action = { .sa_sigaction = tell, .sa_flags = SA_SIGINFO }, old;

	CHECK(signal(SIGUSR1, count) == SIG_DFL);
	CHECK(raise(SIGUSR1) == 0 && caught == 1);
	CHECK(kill(getpid(), SIGUSR1) == 0 && caught == 2);
	CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && caught == 3);
	CHECK(sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == count);
	CHECK(raise(SIGUSR1) == 0 && value == SIGUSR1 && caught == 3);
	CHECK(signal(SIGTERM, count) == SIG_DFL && raise(SIGTERM) == 0 && caught == 4);
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR && raise(SIGUSR1) == 0 && caught == 4);
	CHECK(raise(SIGCHLD) == 0);
	CHECK(signal(SIGKILL, count) == SIG_ERR && errno == EINVAL);
	CHECK(kill(getpid(), 0) == 0 && pthread_kill(pthread_self(), 0) == 0);
	CHECK(raise(1000) != 0);
}

static void held_back(void)
{
	sigset_t set, old;

	caught = 0;
	CHECK(signal(SIGUSR2, count) == SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGSEGV);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGUSR2));
	CHECK(raise(SIGUSR2) == 0 && caught == 0);
	int got = 0;
	CHECK(sigwait(&set, &got) == 0 && got == SIGUSR2);
	unsigned long long now = __rdtsc();
	CHECK(__rdtsc() >= now);
	CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0 && caught == 0);
	struct timespec time = { 0, 1000000 };
	CHECK(sigtimedwait(&set, NULL, &time) == -1 && errno == EAGAIN);
}

static void faults(void)
{
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO };
	volatile int rounds = 0;

	caught = 0;
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
	*(volatile char *)page = 1;
	CHECK(caught == 1 && page[0] == 1);
	CHECK(signal(SIGSEGV, jump) != SIG_ERR);
	while (rounds < 5) {
		CHECK(mprotect(page, 4096, PROT_NONE) == 0);
		int signal = sigsetjmp(back, 1);
		if (!signal)
			*(volatile char *)page = 2;
		CHECK(signal == SIGSEGV && __rdtsc());
		rounds++;
	}
	CHECK(signal(SIGSEGV, SIG_DFL) == jump);
	CHECK(signal(SIGABRT, jump) == SIG_DFL);
	if (!sigsetjmp(back, 1))
		abort();
	CHECK(signal(SIGABRT, SIG_DFL) == jump);
}

static void *on_own_stack(void *unused)
{
	static __thread char room[32768];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) }, old;
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	(void)unused;
	CHECK(sigaltstack(&stack, &old) == 0 && old.ss_flags == SS_DISABLE);
	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == room);
	CHECK(mprotect(page, 4096, PROT_NONE) == 0);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	caught = 0;
	double kept = __rdtsc() ? 1.5 : 2.5;
	*(volatile char *)page = 3;
	CHECK(caught == 1 && kept == 1.5);
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	return NULL;
}

static void broken_pipe(void)
{
	int pair[2];

	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK(pipe(pair) == 0 && close(pair[0]) == 0);
	CHECK(write(pair[1], "x", 1) == -1 && errno == EPIPE);
}

static void stack_is_known(void)
{
	pthread_attr_t attr;
	void *begin;
	size_t bytes;
	char here;

	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &begin, &bytes) == 0);
	CHECK(&here > (char *)begin && &here < (char *)begin + bytes);
	CHECK(pthread_attr_destroy(&attr) == 0);
}

static void *in_a_thread(void *unused)
{
	stack_is_known();
	return on_own_stack(unused);
}

int main(void)
{
	pthread_t thread;

	to_itself();
	held_back();
	faults();
	stack_is_known();
	for (int i = 0; i < 3; i++) {
		CHECK(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	broken_pipe();
	puts("signals are right");
	fflush(stdout);
	_exit(0);
}
