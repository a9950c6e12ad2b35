/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A reader-writer lock of pthreads is taken and released by readers. Build with -DHOLD=N for N microseconds in between, which a
// reader waits for one by one.
#include "../workload.h"

static _Alignas(64) pthread_rwlock_t rwl = PTHREAD_RWLOCK_INITIALIZER;

static void prepare(int threads) { (void)threads; }

static void hold(void)
{
#ifdef HOLD
	for (int i = 0; i < HOLD; i++)
		for (long from = now_ns(); now_ns() - from < 1000;)
			;
#endif
}

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		if (pthread_rwlock_rdlock(&rwl))
			abort();
		hold();
		if (pthread_rwlock_unlock(&rwl))
			abort();
	}
}
