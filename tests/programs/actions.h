/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Actions and sets of signals, for programs of every directory. */
#ifndef ACTIONS_H
#define ACTIONS_H
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* A set of one signal, or of two: 0 stands for none. */
static inline sigset_t set_of(int one, int other)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, one);
	if (other)
		sigaddset(&set, other);
	return set;
}

/* `masked`: blocked while the handler runs, beside the signal itself; 0: nothing is. */
static inline int set_handler(int signal, void (*handler)(int), int flags, int masked)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	if (masked)
		sigaddset(&action.sa_mask, masked);
	return sigaction(signal, &action, NULL);
}

static inline int change_mask(int how, int one, int other)
{
	sigset_t set = set_of(one, other);

	return pthread_sigmask(how, &set, NULL);
}

#endif
