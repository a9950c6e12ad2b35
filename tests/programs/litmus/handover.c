/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A ticket lock whose waiters look at its word by one kind of access: handover THREADS prints nanoseconds a turn.
   Natively all kinds are one load instruction: so they must cost the same, and so must a lock with CALLS of its
   functions, or POINTERS to them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 400, MOST_THREADS = 80 };

static _Alignas(64) unsigned next;
static _Alignas(64) unsigned owner;
/* A second word, which nobody writes but at first. */
static _Alignas(64) unsigned stop;
static _Alignas(64) long turns;
static pthread_barrier_t start;

static inline unsigned look(unsigned *word)
{
#if defined VOLATILE
	return *(volatile unsigned *)word;
#elif defined PLAIN
	__asm__ volatile("" ::: "memory");
	return *word;
#elif defined ASSEMBLY
	unsigned value;
	__asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*word) : "memory");
	return value;
#else
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

#ifdef CALLS
#define FUNCTION static __attribute__((noinline)) void
#else
#define FUNCTION static void
#endif

FUNCTION take(unsigned me)
{
	while (look(&owner) != me && !look(&stop))
		__builtin_ia32_pause();
}

FUNCTION release(unsigned me)
{
	__atomic_store_n(&owner, me + 1, __ATOMIC_RELEASE);
}

static struct {
	void (*take)(unsigned me), (*release)(unsigned me);
} volatile lock = { take, release };

#ifdef POINTERS
#define TAKE lock.take
#define RELEASE lock.release
#else
#define TAKE take
#define RELEASE release
#endif

static void *take_turns(void *unused)
{
	pthread_barrier_wait(&start);
	for (int i = 0; i < TURNS; i++) {
		unsigned me = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
		TAKE(me);
		turns++;
		RELEASE(me);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST_THREADS];
	struct timespec begin, end;
	int n = argc == 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST_THREADS)
		return 2;
	stop = 0;
	pthread_barrier_init(&start, NULL, n + 1);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, take_turns, NULL);
	pthread_barrier_wait(&start);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.1f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec) / TURNS / n);
	return turns != (long)n * TURNS;
}
