/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One thread writes an array that its own caches do not hold, and all read it, each from the first line on. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 6, WORDS = 1 << 17, LINE = 8 };

static long *array;
static atomic_int ready;
static volatile long sum_seen[THREADS];

static void *reader(void *arg)
{
	long thread = (long)arg, sum = 0;

	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < THREADS)
		;
	for (long i = 0; i < WORDS; i += LINE)
		sum += array[i];
	sum_seen[thread] = sum;
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	array = aligned_alloc(64, WORDS * sizeof(*array));
	for (long i = 0; i < WORDS; i++)
		array[i] = i;
	for (long i = 1; i < THREADS; i++)
		pthread_create(&thread[i], NULL, reader, (void *)i);
	reader(NULL);
	for (long i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
