/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is done with a signal that comes, and how one is sent. */
#define _GNU_SOURCE
#include "handlers.h"
#include <setjmp.h>
#include <sys/syscall.h>

static char room[65536];
static stack_t stack_then;
static volatile int code_then, depth, deepest;
static char *volatile where;
static struct sigaction action_then;
static sigjmp_buf back;

static int is_on(char *at)
{
	return at >= room && at < room + sizeof room;
}

static void look(int signal)
{
	stack_t other = {.ss_sp = room, .ss_size = sizeof room};

	where = __builtin_frame_address(0);
	sigaltstack(NULL, &stack_then);
	code_then = stack_then.ss_flags == SS_ONSTACK && FAILS(EPERM, sigaltstack(&other, NULL));
	sigaction(signal, NULL, &action_then);
	count(signal);
}

static void nest(int signal)
{
	if (++depth > deepest)
		deepest = depth;
	if (++caught < 3)
		raise(signal);
	depth--;
}

static void leave(int signal)
{
	siglongjmp(back, signal);
}

static void dispositions(void)
{
	struct sigaction now, action = {.sa_handler = count, .sa_flags = SA_RESTART};

	SAYS("sigaction 1", "takes a handler", !sigaction(SIGUSR1, &action, NULL) && !raise(SIGUSR1) && caught == 1);
	SAYS("sigaction 2,3", "tells of it, and changes nothing", !sigaction(SIGUSR1, NULL, &now) && now.sa_handler == count && (now.sa_flags & SA_RESTART) && !raise(SIGUSR1) && caught == 2);
	SAYS("sigaction 15", "keeps it when it came", !sigaction(SIGUSR1, NULL, &now) && now.sa_handler == count);
	SAYS("sigaction 5,18", "without SA_SIGINFO, gives the number", last == SIGUSR1);
	SAYS("sigaction 27,30", "refuses what is no signal, and what cannot be caught", FAILS(EINVAL, sigaction(1000, &action, NULL)) && FAILS(EINVAL, sigaction(SIGKILL, &action, NULL)) && FAILS(EINVAL, sigaction(SIGSTOP, &action, NULL)));
	handle_info(SIGUSR1);
	SAYS("sigaction 6,19", "with SA_SIGINFO, gives what is known of it", !kill(getpid(), SIGUSR1) && told.si_signo == SIGUSR1 && told.si_code == SI_USER && told.si_pid == getpid() && last == SIGUSR1);
	signal(SIGUSR1, count);
	SAYS("sigaction 28", "what signal() set can be set back", !sigaction(SIGUSR1, NULL, &now) && signal(SIGUSR1, SIG_IGN) == count && !sigaction(SIGUSR1, &now, NULL) && !raise(SIGUSR1) && caught == 2);
	sigaddset(&action.sa_mask, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	SAYS("sigaction 4", "leaves out of the mask what cannot be blocked", !raise(SIGUSR1) && !sigismember(&mask_then, SIGKILL));
}

static void while_it_runs(void)
{
	handle(SIGUSR1, count, 0, SIGUSR2);
	raise(SIGUSR1);
	SAYS("sigaction 7,8,24,25", "blocks what the mask says meanwhile", sigismember(&mask_then, SIGUSR2) && !sigismember(&mask_then, SIGALRM));
	SAYS("sigaction 23", "blocks the signal itself", sigismember(&mask_then, SIGUSR1));
	SAYS("sigaction 26", "gives the mask back", !is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	handle(SIGUSR1, count, SA_NODEFER, 0);
	SAYS("sigaction 22", "but not with SA_NODEFER", !raise(SIGUSR1) && !sigismember(&mask_then, SIGUSR1));
	handle(SIGUSR1, nest, 0, 0);
	depth = deepest = 0;
	SAYS("sigaction 23", "it comes again when the handler is over", !raise(SIGUSR1) && caught == 3 && deepest == 1);
	handle(SIGUSR1, nest, SA_NODEFER, 0);
	depth = deepest = 0;
	SAYS("sigaction 22", "with SA_NODEFER, within it", !raise(SIGUSR1) && caught == 3 && deepest == 3);
	handle(SIGUSR1, look, SA_RESETHAND, 0);
	SAYS("sigaction 14", "with SA_RESETHAND, is the default when the handler runs", !raise(SIGUSR1) && action_then.sa_handler == SIG_DFL);
	handle(SIGUSR1, leave, 0, 0);
	volatile int got = sigsetjmp(back, 1);
	if (!got)
		raise(SIGUSR1);
	SAYS("sigaction 24", "a jump out gives the mask back", got == SIGUSR1 && !is_blocked(SIGUSR1));
}

static void stacks(void)
{
	stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, old;

	SAYS("sigaltstack 8", "is disabled at first", !sigaltstack(NULL, &old) && old.ss_flags == SS_DISABLE);
	SAYS("sigaltstack 3,10", "takes a stack", sigaltstack(&stack, NULL) == 0);
	handle(SIGUSR1, look, SA_ONSTACK, 0);
	SAYS("sigaltstack 1,4 sigaction 12", "is what the handler runs on, if it wants to", !raise(SIGUSR1) && is_on(where));
	SAYS("sigaltstack 6,7,13", "knows that it runs on it, and keeps it", code_then);
	handle(SIGUSR1, look, 0, 0);
	SAYS("sigaction 13", "else it does not", !raise(SIGUSR1) && !is_on(where));
	stack.ss_flags = 1 << 20;
	SAYS("sigaltstack 11", "refuses flags", FAILS(EINVAL, sigaltstack(&stack, NULL)));
	stack.ss_flags = 0;
	stack.ss_size = 100;
	SAYS("sigaltstack 12", "refuses what is too small", FAILS(ENOMEM, sigaltstack(&stack, NULL)));
	stack.ss_flags = SS_DISABLE;
	SAYS("sigaltstack 2,5", "gives what was, and is disabled", !sigaltstack(&stack, &old) && old.ss_sp == room && old.ss_size == sizeof room);
	handle(SIGUSR1, look, SA_ONSTACK, 0);
	SAYS("sigaltstack 2", "then nothing runs on it", !raise(SIGUSR1) && !is_on(where));
}

static void signals(void)
{
	caught = 0;
	SAYS("signal 3,4", "has the handler called, and goes on", signal(SIGUSR1, count) != SIG_ERR && !raise(SIGUSR1) && caught == 1 && last == SIGUSR1);
	SAYS("signal 2,5", "ignores, and gives what was", signal(SIGUSR1, SIG_IGN) == count && !raise(SIGUSR1) && caught == 1);
	SAYS("signal 1", "gives the default back, which may be nothing", signal(SIGCHLD, SIG_DFL) == SIG_DFL && !raise(SIGCHLD));
	SAYS("signal 6", "refuses what is no signal", (errno = 0, signal(1000, count)) == SIG_ERR && errno == EINVAL);
	SAYS("signal 7", "refuses what cannot be caught", (errno = 0, signal(SIGKILL, count)) == SIG_ERR && errno == EINVAL);
	handle(SIGUSR1, count, 0, 0);
	SAYS("raise 1,2,5", "returns when the handler has", raise(SIGUSR1) == 0 && caught == 1);
	SAYS("raise 3", "is for the thread itself", pthread_equal(caught_by, pthread_self()));
	SAYS("raise 6,7", "refuses what is no signal", (errno = 0, raise(1000)) != 0 && errno == EINVAL);
}

static volatile int ready, stop;

static void *rest(void *unused)
{
	ready = 1;
	while (!stop)
		usleep(1000);
	return unused;
}

static void sends(void)
{
	handle(SIGUSR1, count, 0, 0);
	SAYS("kill 1,4,8,11", "to the process itself, comes before it returns", kill(getpid(), SIGUSR1) == 0 && caught == 1);
	SAYS("kill 2", "of no signal, only asks", kill(getpid(), 0) == 0 && caught == 1);
	SAYS("kill 12,13", "refuses what is no signal", FAILS(EINVAL, kill(getpid(), 1000)));
	SAYS("kill 12,15", "finds no such process", FAILS(ESRCH, kill(0x7ffffff0, 0)));
	SAYS("killpg 5,6", "refuses what is no signal", FAILS(EINVAL, killpg(getpgrp(), 1000)));
	SAYS("killpg 5,8", "finds no such group", FAILS(ESRCH, killpg(0x7ffffff0, 0)));
	SAYS("killpg 4 kill 11", "of no signal, only asks", killpg(getpgrp(), 0) == 0);
	pthread_t thread = begin(rest, NULL);
	while (!ready)
		usleep(1000);
	SAYS("pthread_kill 2,3", "of no signal, only asks", pthread_kill(thread, 0) == 0 && caught == 1);
	pthread_kill(thread, SIGUSR1);
	while (caught < 2)
		usleep(1000);
	SAYS("pthread_kill 1", "is for the thread that is named", pthread_equal(caught_by, thread));
	SAYS("pthread_kill 4,5,7", "refuses what is no signal", pthread_kill(thread, 1000) == EINVAL && caught == 2);
	stop = 1;
	pthread_join(thread, NULL);
}

int main(void)
{
	dispositions();
	while_it_runs();
	stacks();
	signals();
	sends();
	return 0;
}
