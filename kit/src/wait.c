// SPDX-License-Identifier: MIT OR Apache-2.0
// How a waiter sleeps, once it has spun and yielded for long enough.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_wait.h>

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 1, SLEEPS = 2 };

int cf_wait_on(uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	int saved = errno, result = 0;
	// The operation with a bit set, since its time is a moment and not a duration. EINVAL: the deadline is no time.
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, deadline, NULL, FUTEX_BITSET_MATCH_ANY) &&
	    (errno == ETIMEDOUT || errno == EINVAL))
		result = -ETIMEDOUT;
	errno = saved;
	return result;
}

void cf_wake(uint32_t *word)
{
	int saved = errno;
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
	errno = saved;
}

bool cf_deadline_passed(const struct timespec *deadline)
{
	struct timespec now;
	if (!deadline)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline->tv_sec || (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
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
		cf_wait_on(waiting, SLEEPS, NULL);
}
