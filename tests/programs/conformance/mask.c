/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sets of signals, masks, and what is pending. */
#define _GNU_SOURCE
#include "handlers.h"

static volatile int ready, stop;

static void sets(void)
{
	sigset_t set;
	int all = 1, none = 1;

	SAYS("sigemptyset 2", "succeeds", sigemptyset(&set) == 0);
	for (int i = 1; i < 32; i++)
		none = none && sigismember(&set, i) == 0;
	SAYS("sigemptyset 1 sigismember 4", "has none", none);
	SAYS("sigaddset 1,3 sigismember 1,3", "adds one", !sigaddset(&set, SIGUSR1) && sigismember(&set, SIGUSR1) == 1 && !sigismember(&set, SIGUSR2));
	SAYS("sigdelset 1,3", "takes it out", !sigdelset(&set, SIGUSR1) && sigismember(&set, SIGUSR1) == 0);
	SAYS("sigfillset 2", "succeeds", sigfillset(&set) == 0);
	for (int i = 1; i < 32; i++)
		all = all && sigismember(&set, i) == 1;
	SAYS("sigfillset 1", "has all", all);
	SAYS("sigaddset 4,5", "refuses what is no signal", FAILS(EINVAL, sigaddset(&set, 1000)));
	SAYS("sigdelset 4,5", "refuses what is no signal", FAILS(EINVAL, sigdelset(&set, 1000)));
	SAYS("sigismember 5,6", "refuses what is no signal", FAILS(EINVAL, sigismember(&set, 1000)));
}

/* The sentences that hold of both calls; `change` gives 0 or an error. */
static void masks(int (*change)(int, const sigset_t *, sigset_t *), const char *name)
{
	sigset_t one = set_of(SIGUSR1, 0), other = set_of(SIGUSR2, 0), old, both = set_of(SIGKILL, SIGSTOP);
	char title[64];
#define OF(numbers) (snprintf(title, sizeof title, "%s %s", name, numbers), title)

	handle(SIGUSR1, count, 0, 0);
	change(SIG_SETMASK, &one, NULL);
	SAYS(OF("4"), "adds to the mask", !change(SIG_BLOCK, &other, &old) && is_blocked(SIGUSR1) && is_blocked(SIGUSR2));
	SAYS(OF("7"), "gives the mask that was", sigismember(&old, SIGUSR1) && !sigismember(&old, SIGUSR2));
	SAYS(OF("6"), "takes out of the mask", !change(SIG_UNBLOCK, &one, NULL) && !is_blocked(SIGUSR1) && is_blocked(SIGUSR2));
	SAYS(OF("3,5"), "sets the mask", !change(SIG_SETMASK, &one, NULL) && is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
	SAYS(OF("8"), "without a set, only tells", !change(77, NULL, &old) && sigismember(&old, SIGUSR1) && is_blocked(SIGUSR1));
	raise(SIGUSR1);
	int before = caught;
	SAYS(OF("9"), "what is pending comes before it returns", !change(SIG_UNBLOCK, &one, NULL) && !before && caught == 1);
	SAYS(OF("10"), "leaves out what cannot be blocked, and says nothing", !change(SIG_BLOCK, &both, NULL) && !is_blocked(SIGKILL) && !is_blocked(SIGSTOP));
	change(SIG_SETMASK, &other, NULL);
	errno = 0;
	int code = change(77, &one, NULL);
	SAYS(OF("12"), "that fails changes nothing", code != 0 && is_blocked(SIGUSR2) && !is_blocked(SIGUSR1));
	change(SIG_UNBLOCK, &other, NULL);
}

static void *own_mask(void *unused)
{
	block(SIG_BLOCK, SIGUSR2, 0);
	raise(SIGUSR2);
	ready = 1;
	while (!stop)
		usleep(1000);
	return is_pending(SIGUSR2) && !is_pending(SIGUSR1) ? unused : (void *)0;
}

static void of_threads(void)
{
	sigset_t one = set_of(SIGUSR1, 0);
	void *value = NULL;

	SAYS("pthread_sigmask 16", "refuses what it is not told to do", pthread_sigmask(77, &one, NULL) == EINVAL);
	SAYS("sigprocmask 15,17", "refuses what it is not told to do", FAILS(EINVAL, sigprocmask(77, &one, NULL)));
	SAYS("pthread_sigmask 14", "gives 0", pthread_sigmask(SIG_BLOCK, &one, NULL) == 0);
	SAYS("sigprocmask 2,15", "gives 0", sigprocmask(SIG_UNBLOCK, &one, NULL) == 0);
	handle(SIGUSR2, count, 0, 0);
	pthread_t thread = begin(own_mask, &mask_then);
	while (!ready)
		usleep(1000);
	SAYS("pthread_sigmask 1", "is each thread's own", !is_blocked(SIGUSR2));
	SAYS("sigpending 1", "knows not of what is another thread's", !is_pending(SIGUSR2));
	stop = 1;
	pthread_join(thread, &value);
	SAYS("sigpending 1", "knows what is the thread's", value == &mask_then);
	block(SIG_BLOCK, SIGUSR1, SIGUSR2);
	kill(getpid(), SIGUSR1);
	sigset_t now;
	SAYS("sigpending 1,2", "knows what is the process's", !sigpending(&now) && sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
	handle(SIGUSR1, count, 0, 0);
	block(SIG_UNBLOCK, SIGUSR1, SIGUSR2);
	SAYS("sigpending 1", "has none after it came", caught == 1 && !is_pending(SIGUSR1));
}

static void old_calls(void)
{
	handle(SIGUSR1, count, 0, 0);
	SAYS("sighold 1,2", "blocks", !sighold(SIGUSR1) && is_blocked(SIGUSR1));
	raise(SIGUSR1);
	SAYS("sighold 1", "so that it waits", !caught && is_pending(SIGUSR1));
	SAYS("sigrelse 1,2", "unblocks", !sigrelse(SIGUSR1) && caught == 1 && !is_blocked(SIGUSR1));
	SAYS("sighold 3", "refuses what is no signal", FAILS(EINVAL, sighold(1000)));
	SAYS("sigrelse 3", "refuses what is no signal", FAILS(EINVAL, sigrelse(1000)));
	sighold(SIGUSR1);
	raise(SIGUSR1);
	SAYS("sigpause 1,3", "unblocks and waits for it", FAILS(EINTR, sigpause(SIGUSR1)) && caught == 2);
	SAYS("sigpause 2", "gives the mask back", is_blocked(SIGUSR1));
	SAYS("sigpause 4", "refuses what is no signal", FAILS(EINVAL, sigpause(1000)));
	sigrelse(SIGUSR1);
	SAYS("sigignore 1,4", "lets it come to nothing", !sigignore(SIGUSR1) && !raise(SIGUSR1) && caught == 2);
	SAYS("sigignore 5", "refuses what is no signal", FAILS(EINVAL, sigignore(1000)));
	SAYS("sigignore 6", "refuses what cannot be ignored", FAILS(EINVAL, sigignore(SIGKILL)) && FAILS(EINVAL, sigignore(SIGSTOP)));
}

static void sigsets(void)
{
	caught = 0;
	SAYS("sigset 9", "gives the disposition that was", sigset(SIGUSR1, count) == SIG_IGN && sigset(SIGUSR1, count) == count);
	SAYS("sigset 3", "has the handler called", !raise(SIGUSR1) && caught == 1 && last == SIGUSR1);
	SAYS("sigset 4", "blocks it meanwhile", sigismember(&mask_then, SIGUSR1));
	SAYS("sigset 5", "and not afterwards", !is_blocked(SIGUSR1));
	sigset(SIGUSR1, SIG_HOLD);
	SAYS("sigset 6", "blocks", is_blocked(SIGUSR1));
	struct sigaction now;
	SAYS("sigset 7", "leaves the handler then", !sigaction(SIGUSR1, NULL, &now) && now.sa_handler == count);
	SAYS("sigset 8", "tells that it was blocked", sigset(SIGUSR1, count) == SIG_HOLD && !is_blocked(SIGUSR1));
	SAYS("sigset 2", "ignores", sigset(SIGUSR1, SIG_IGN) == count && !raise(SIGUSR1) && caught == 1);
	SAYS("sigset 1", "gives the default back, which may be nothing", sigset(SIGCHLD, SIG_DFL) == SIG_DFL && !raise(SIGCHLD));
	SAYS("sigset 10", "refuses what is no signal", (errno = 0, sigset(1000, count)) == SIG_ERR && errno == EINVAL);
}

int main(void)
{
	sets();
	masks(pthread_sigmask, "pthread_sigmask");
	masks(sigprocmask, "sigprocmask");
	of_threads();
	old_calls();
	sigsets();
	return 0;
}
