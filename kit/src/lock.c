// SPDX-License-Identifier: MIT OR Apache-2.0
// How a waiter sleeps, once it has spun and yielded for long enough.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_lock.h>

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 1, SLEEPS = 2 };

static void keep_errno_and_call(uint32_t *word, int operation, uint32_t value)
{
	int saved = errno;
	syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved;
}

void cf_lock_sleep(void)
{
	const struct timespec moment = { 0, 100000 };
	int saved = errno;
	nanosleep(&moment, NULL);
	errno = saved;
}

void cf_lock_park(uint32_t *waiting)
{
	uint32_t state = SPINS;
	// Relaxed: the loop below orders. Where this fails, the lock has been handed over.
	__atomic_compare_exchange_n(waiting, &state, SLEEPS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	// Acquire: after the last holder's release in cf_lock_hand_over.
	while (__atomic_load_n(waiting, __ATOMIC_ACQUIRE) == SLEEPS)
		keep_errno_and_call(waiting, FUTEX_WAIT, SLEEPS);
}

void cf_lock_wake(uint32_t *waiting)
{
	keep_errno_and_call(waiting, FUTEX_WAKE, 1);
}
