/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A pthread reader-writer lock: readers sum eight words, one of sixteen operations writes them.
#include "../workload.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(128) volatile long words[8];
static volatile long sum_seen[MOST_THREADS][16];

static void prepare(int threads) { (void)threads; }

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		if (i % 16 == 0) {
			pthread_rwlock_wrlock(&lock);
			for (int w = 0; w < 8; w++)
				words[w]++;
		} else {
			long sum = 0;

			pthread_rwlock_rdlock(&lock);
			for (int w = 0; w < 8; w++)
				sum += words[w];
			sum_seen[thread][0] = sum;
		}
		pthread_rwlock_unlock(&lock);
	}
}
