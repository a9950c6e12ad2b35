/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handlers that note what they are called with. */
#ifndef HANDLERS_H
#define HANDLERS_H
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "../actions.h"
#include "says.h"

static volatile sig_atomic_t caught, last;
static siginfo_t told;
static sigset_t mask_then;
static pthread_t caught_by;

static inline void count(int signal)
{
	pthread_sigmask(SIG_SETMASK, NULL, &mask_then);
	caught_by = pthread_self();
	last = signal;
	caught++;
}

static inline void tell(int signal, siginfo_t *info, void *context)
{
	told = *info;
	count(context ? signal : 0);
}

static inline int handle(int signal, void (*handler)(int), int flags, int masked)
{
	caught = last = 0;
	return set_handler(signal, handler, flags, masked);
}

static inline int handle_info(int signal)
{
	struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	caught = last = 0;
	return sigaction(signal, &action, NULL);
}

static inline int block(int how, int one, int other) { return change_mask(how, one, other); }

static inline int is_blocked(int signal)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, signal);
}

static inline int is_pending(int signal)
{
	sigset_t now;

	sigpending(&now);
	return sigismember(&now, signal);
}

#endif
