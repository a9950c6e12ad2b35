/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A reader-writer lock of pthreads is taken and released by readers, with nothing in between.
#include "../workload.h"

static _Alignas(64) pthread_rwlock_t rwl = PTHREAD_RWLOCK_INITIALIZER;

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--)
		if (pthread_rwlock_rdlock(&rwl) || pthread_rwlock_unlock(&rwl))
			abort();
}
