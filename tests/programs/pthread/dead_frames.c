/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Functions write local variables while an earlier store still waits for its line, and return: nothing of theirs may be
 * written later, where others' frames are by then.
 */
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define THREADS 4
#define WAVES 60
#define LINE 64
#define FRAME (40 * LINE)

struct word {
	_Alignas(LINE) atomic_uint value;
};
static struct word words[THREADS], begun;
/* Not simulated: on a busy host others have to get the CPU. */
static int by_itself;

/* The compiler does not see what becomes of them. */
static __attribute__((noinline)) unsigned fill(volatile unsigned char *bytes, unsigned count, unsigned char with)
{
	for (unsigned i = 0; i < count; i += 24)
		bytes[i] = with;
	return bytes[0];
}

/* Lines of the stack that no frame of this thread had before. */
static __attribute__((noinline)) unsigned deeper(unsigned char with)
{
	volatile unsigned char frame[FRAME];

	return fill(frame, FRAME, with);
}

static void *work(void *argument)
{
	unsigned me = (unsigned)(uintptr_t)argument, sum = 0;

	atomic_fetch_add(&begun.value, 1);
	while (atomic_load(&begun.value) % THREADS)
		if (by_itself)
			sched_yield();
	for (unsigned i = 1; i <= THREADS; i++) {
		/* All write all words: the line is with another CPU. */
		atomic_store_explicit(&words[(me + i) % THREADS].value, i, memory_order_release);
		sum += deeper((unsigned char)(0x40 | i)) == (0x40 | i);
		sum += atomic_load_explicit(&words[(me + i + 1) % THREADS].value, memory_order_acquire) <= THREADS;
	}
	return (void *)(uintptr_t)sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *sum;

	by_itself = !getenv("COREFOLD_LAUNCH");
	for (int wave = 0; wave < WAVES; wave++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			RETURNS(0, pthread_create(&threads[i], NULL, work, (void *)i));
		for (int i = 0; i < THREADS; i++) {
			RETURNS(0, pthread_join(threads[i], &sum));
			CHECK((uintptr_t)sum == 2 * THREADS);
		}
	}
	puts("frames hold");
	return 0;
}
