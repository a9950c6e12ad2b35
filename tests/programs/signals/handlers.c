/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How handlers run: masks, flags, stacks, order, and ways out of them. */
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "check.h"
#include <setjmp.h>
#include <ucontext.h>

static volatile sig_atomic_t caught, depth, deepest, noted;
static volatile char order[16];
static sigjmp_buf back;
static char room[65536];
static char *volatile where;

static void nest(int signal)
{
	caught++;
	if (++depth > deepest)
		deepest = depth;
	if (caught < 3)
		raise(signal);
	depth--;
}

static void note(int signal)
{
	order[noted++] = signal == SIGUSR1 ? '1' : signal == SIGUSR2 ? '2' : 'w';
}

static int is_noted(const char *expected) { return noted == (int)strlen(expected) && !memcmp((char *)order, expected, noted); }

static void mark(int signal)
{
	(void)signal;
	where = __builtin_frame_address(0);
	caught++;
}

static void leave(int signal) { siglongjmp(back, signal); }

static void unblock_later(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
}

static void flags(void)
{
	struct sigaction now;

	handle(SIGUSR1, nest, 0);
	caught = depth = deepest = 0;
	CHECK(raise(SIGUSR1) == 0 && caught == 3 && deepest == 1);
	handle(SIGUSR1, nest, SA_NODEFER);
	caught = depth = deepest = 0;
	CHECK(raise(SIGUSR1) == 0 && caught == 3 && deepest == 3);
	handle(SIGUSR1, mark, SA_RESETHAND);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

/* Two that come free at once: the later number's handler runs on top. */
static void in_order(void)
{
	handle(SIGUSR1, note, 0);
	handle(SIGUSR2, note, 0);
	struct sigaction action = {.sa_handler = note};
	sigfillset(&action.sa_mask);
	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	CHECK(raise(SIGUSR2) == 0 && raise(SIGUSR1) == 0);
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
	CHECK(is_noted("21"));
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	CHECK(raise(SIGUSR2) == 0 && raise(SIGUSR1) == 0);
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
	CHECK(is_noted("2112"));
}

static int is_on(char *at) { return at >= room && at < room + sizeof(room); }

static void on_a_stack(void)
{
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)}, old;

	CHECK(sigaltstack(&stack, NULL) == 0);
	handle(SIGUSR1, mark, SA_ONSTACK);
	CHECK(raise(SIGUSR1) == 0 && is_on(where));
	handle(SIGUSR1, mark, 0);
	CHECK(raise(SIGUSR1) == 0 && !is_on(where));
	stack.ss_size = 100;
	FAILS(ENOMEM, sigaltstack(&stack, NULL));
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, &old) == 0 && old.ss_sp == room && old.ss_size == sizeof(room));
}

static __attribute__((noinline)) int deep(int levels)
{
	return levels ? deep(levels - 1) + 1 : raise(SIGUSR1);
}

/* A jump out of a handler, with and without the mask. */
static void jumps(void)
{
	sigset_t now;

	handle(SIGUSR1, leave, 0);
	for (volatile int i = 0; i < 1000; i++) {
		int got = sigsetjmp(back, 1);

		if (!got)
			deep(i % 30);
		CHECK(got == SIGUSR1);
	}
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && !sigismember(&now, SIGUSR1));
	if (!sigsetjmp(back, 0))
		deep(3);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
	block(SIG_UNBLOCK, SIGUSR1, 0);
}

static void by_context(void)
{
	struct sigaction action = {.sa_sigaction = unblock_later, .sa_flags = SA_SIGINFO};
	sigset_t now;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR2));
	block(SIG_UNBLOCK, SIGUSR2, 0);
}

/* A fault's handler has its mask, and gives it back. */
static volatile int *volatile nothing, *volatile address = (volatile int *)16;
static int something;

static void look(int signal, siginfo_t *info, void *context)
{
	sigset_t now;

	(void)info;
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
	CHECK(sigismember(&now, signal) && sigismember(&now, SIGUSR2));
	nothing = &something;
	caught++;
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	for (int i = 0; i < 16; i++)
		if (registers[i] == 16)
			registers[i] = (greg_t)&something;
}

static void faults(void)
{
	struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO, .sa_mask = set_of(SIGUSR2, 0)};
	sigset_t now;

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	caught = 0;
	for (int i = 0; i < 3; i++) {
		nothing = address;
		*nothing = 7;
		CHECK(caught == i + 1);
		CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
		CHECK(!sigismember(&now, SIGSEGV) && !sigismember(&now, SIGUSR2));
	}
}

static void old_calls(void)
{
	sigset_t now;

	handle(SIGUSR1, note, 0);
	noted = 0;
	CHECK(sighold(SIGUSR1) == 0 && raise(SIGUSR1) == 0 && !noted);
	FAILS(EINTR, sigpause(SIGUSR1));
	CHECK(is_noted("1"));
	CHECK(sigrelse(SIGUSR1) == 0);
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && !sigismember(&now, SIGUSR1));
	CHECK(sigignore(SIGUSR1) == 0 && raise(SIGUSR1) == 0 && is_noted("1"));
}

int main(void)
{
	flags();
	in_order();
	on_a_stack();
	jumps();
	by_context();
	faults();
	old_calls();
	puts("handlers are right");
	return 0;
}
