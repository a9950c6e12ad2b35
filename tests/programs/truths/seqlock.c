/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A seqlock: one thread writes two words, all others read them until it is done: seqlock THREADS. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WRITES = 20000 };

static atomic_uint sequence;
static atomic_long first, second;
static atomic_int done, torn;

static void *write_both(void *unused)
{
	for (int i = 0; i < WRITES; i++) {
		unsigned now = atomic_load_explicit(&sequence, memory_order_relaxed);
		atomic_store_explicit(&sequence, now + 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&first, i, memory_order_relaxed);
		atomic_store_explicit(&second, -i, memory_order_relaxed);
		atomic_store_explicit(&sequence, now + 2, memory_order_release);
	}
	atomic_store(&done, 1);
	return unused;
}

static void *read_both(void *unused)
{
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		unsigned before;
		long one, other;
		do {
			before = atomic_load_explicit(&sequence, memory_order_acquire);
			one = atomic_load_explicit(&first, memory_order_relaxed);
			other = atomic_load_explicit(&second, memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
		} while (before & 1 || before != atomic_load_explicit(&sequence, memory_order_relaxed));
		if (one != -other)
			atomic_store(&torn, 1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t thread[threads];
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, i < threads - 1 ? read_both : write_both, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return torn;
}
