/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A pthread mutex around one add.
#include "../workload.h"

static _Alignas(128) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) volatile long counter;

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
}
