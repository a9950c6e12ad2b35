/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads take a lock that is spun on for a while and then slept for. Prints how often somebody slept.
 *   adaptive_lock THREADS TURNS */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, TAKEN, SLEPT_FOR, SPINS = 60 };

static _Alignas(64) _Atomic int lock;
static _Alignas(64) _Atomic long sleeps;
static long turns;

static int take(int as)
{
	int expected = FREE;

	return atomic_compare_exchange_strong_explicit(&lock, &expected, as, memory_order_acquire, memory_order_relaxed);
}

static void acquire(void)
{
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&lock, memory_order_relaxed) == FREE && take(TAKEN))
			return;
		__builtin_ia32_pause();
	}
	while (atomic_exchange_explicit(&lock, SLEPT_FOR, memory_order_acquire) != FREE)
		if (syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, SLEPT_FOR, NULL, NULL, 0) == 0)
			atomic_fetch_add_explicit(&sleeps, 1, memory_order_relaxed);
}

static void release(void)
{
	if (atomic_exchange_explicit(&lock, FREE, memory_order_release) == SLEPT_FOR)
		syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *unused)
{
	for (long turn = 0; turn < turns; turn++) {
		acquire();
		for (volatile int i = 0; i < 300; i++)
			;
		release();
	}
	return unused;
}

int main(int count, char **arguments)
{
	int threads = count > 1 ? atoi(arguments[1]) : 4;
	pthread_t thread[64];

	turns = count > 2 ? atol(arguments[2]) : 100;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", (long)sleeps);
	return 0;
}
