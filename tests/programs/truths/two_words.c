/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiters for a ticket lock who look at a second word as well, by one of 16 functions: two_words THREADS FUNCTION. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { TURNS = 100, MOST_THREADS = 80 };

static _Alignas(64) atomic_uint next;
static _Alignas(64) atomic_uint owner;
static _Alignas(64) atomic_uint stop;
static _Alignas(64) long turns;
static pthread_barrier_t start;
static int function;

#define LOOK(number)                                                         \
	static __attribute__((noinline)) unsigned look##number(void)         \
	{                                                                    \
		return atomic_load_explicit(&stop, memory_order_acquire);    \
	}
#define FOUR(a, b, c, d) LOOK(a) LOOK(b) LOOK(c) LOOK(d)
FOUR(0, 1, 2, 3) FOUR(4, 5, 6, 7) FOUR(8, 9, 10, 11) FOUR(12, 13, 14, 15)

static unsigned (*const looks[16])(void) = { look0, look1, look2,  look3,  look4,  look5,  look6,  look7,
					     look8, look9, look10, look11, look12, look13, look14, look15 };

static void *take_turns(void *unused)
{
	unsigned (*look)(void) = looks[function];

	pthread_barrier_wait(&start);
	for (int i = 0; i < TURNS; i++) {
		unsigned me = atomic_fetch_add(&next, 1);

		while (atomic_load_explicit(&owner, memory_order_acquire) != me && !look())
			__builtin_ia32_pause();
		turns++;
		atomic_store_explicit(&owner, me + 1, memory_order_release);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	int n = argc > 1 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST_THREADS)
		return 2;
	function = argc > 2 ? atoi(argv[2]) & 15 : 0;
	pthread_barrier_init(&start, NULL, n);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, take_turns, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return turns != (long)n * TURNS;
}
