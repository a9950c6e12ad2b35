/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The ladder of ways to count, from a racy add to a blocking queue: one increment an operation. Build with one
// of -DPLAIN, -DTLS, -DATOMIC, -DCAS, -DCAS_MULTI, -DMUTEX, -DSPIN, -DSPIN_PAUSE, -DSPIN_YIELD, -DTICKET,
// -DTICKET_YIELD, -DFUTEX, -DTICKET_BLOCKING, -DQUEUED.
#include "../workload.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The source aligns its locks to lines and lets the counters lie where they may: gcc puts each into the line before
 * its lock's, with nothing beside it that is used. Pairs of lines are not told apart there: apart here. */
__attribute__((unused)) static _Alignas(128) volatile long counter;
__attribute__((unused)) static _Alignas(128) struct {
	atomic_int locked;
	atomic_ulong next, serving;
} shared;

/* The threads that count are never the process's only one, so its mutexes are locked by locked operations. */
static sem_t never;
static void *sleeper(void *unused)
{
	sem_wait(&never);
	return unused;
}
static void prepare(int threads)
{
	pthread_t thread;

	(void)threads;
	if (sem_init(&never, 0, 0) || pthread_create(&thread, NULL, sleeper, NULL))
		exit(3);
}

#if defined(PLAIN)
static void increment(void) { counter++; }
#elif defined(TLS)
static _Thread_local struct { char ready; _Atomic long value; } mine;
static __attribute__((noinline)) void make_ready(void) { mine.ready = 1; }
/* A call, and an access through the thread pointer to an object that is constructed at its first use. */
static __attribute__((noinline)) void increment(void)
{
	if (__builtin_expect(!mine.ready, 0))
		make_ready();
	atomic_store_explicit(&mine.value, atomic_load_explicit(&mine.value, memory_order_relaxed) + 1, memory_order_relaxed);
}
#elif defined(ATOMIC)
static atomic_long word;
static void increment(void) { atomic_fetch_add_explicit(&word, 1, memory_order_relaxed); }
#elif defined(CAS)
static atomic_long word;
static void increment(void)
{
	long seen = atomic_load(&word);

	while (!atomic_compare_exchange_weak(&word, &seen, seen + 1))
		;
}
#elif defined(CAS_MULTI)
/* Whoever fails goes on to the next of 64 counters, and stays there. */
static struct { _Alignas(64) atomic_long value; } counters[64];
static _Thread_local unsigned index_of_mine;
static void increment(void)
{
	for (;;) {
		atomic_long *mine = &counters[index_of_mine].value;
		long seen = atomic_load(mine);

		if (atomic_compare_exchange_strong(mine, &seen, seen + 1))
			return;
		index_of_mine = (index_of_mine + 1) % 64;
	}
}
#else
#define LOCKED
#if defined(MUTEX)
static _Alignas(64) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }
#elif defined(SPIN) || defined(SPIN_PAUSE) || defined(SPIN_YIELD)
#if defined(SPIN)
static void wait(void) {}
#elif defined(SPIN_PAUSE)
static void wait(void) { relax(); }
#else
static void wait(void) { sched_yield(); }
#endif
static __attribute__((noinline)) void lock(void)
{
	do {
		while (atomic_load_explicit(&shared.locked, memory_order_relaxed))
			wait();
	} while (atomic_exchange_explicit(&shared.locked, 1, memory_order_acquire));
}
static __attribute__((noinline)) void unlock(void)
{
	atomic_store_explicit(&shared.locked, 0, memory_order_release);
}
#elif defined(TICKET) || defined(TICKET_YIELD)
static void lock(void)
{
	unsigned long mine = atomic_fetch_add_explicit(&shared.next, 1, memory_order_relaxed);

	while (atomic_load_explicit(&shared.serving, memory_order_acquire) != mine) {
#if defined(TICKET_YIELD)
		sched_yield();
#endif
	}
}
static void unlock(void)
{
	atomic_store_explicit(&shared.serving, atomic_load(&shared.serving) + 1, memory_order_release);
}
#elif defined(FUTEX)
/* 0: free, 1: taken, 2: taken and waited for. */
static void futex(int operation, int value)
{
	syscall(SYS_futex, &shared.locked, operation, value, NULL, NULL, 0);
}
static void lock(void)
{
	int seen = 0;

	if (atomic_compare_exchange_strong(&shared.locked, &seen, 1))
		return;
	if (seen != 2)
		seen = atomic_exchange_explicit(&shared.locked, 2, memory_order_acquire);
	while (seen != 0) {
		futex(FUTEX_WAIT, 2);
		seen = atomic_exchange_explicit(&shared.locked, 2, memory_order_acquire);
	}
}
static void unlock(void)
{
	if (atomic_fetch_sub(&shared.locked, 1) != 1) {
		shared.locked = 0;
		futex(FUTEX_WAKE, 1);
	}
}
#elif defined(TICKET_BLOCKING)
/* Everybody waits at one condition, and whose turn it is goes on. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static void lock(void)
{
	unsigned long mine = atomic_fetch_add_explicit(&shared.next, 1, memory_order_relaxed);

	if (atomic_load_explicit(&shared.serving, memory_order_acquire) == mine)
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load_explicit(&shared.serving, memory_order_acquire) != mine)
		pthread_cond_wait(&turn, &mutex);
	pthread_mutex_unlock(&mutex);
}
static void unlock(void)
{
	unsigned long after;

	pthread_mutex_lock(&mutex);
	after = atomic_load_explicit(&shared.serving, memory_order_relaxed) + 1;
	atomic_store_explicit(&shared.serving, after, memory_order_release);
	if (after < atomic_load_explicit(&shared.next, memory_order_relaxed))
		pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&mutex);
}
#elif defined(QUEUED)
/* Each waits at a condition of its own, first in, first out. */
static struct waiter { struct waiter *next; pthread_cond_t turn; int owner; } *first, **last = &first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int taken;
static void lock(void)
{
	struct waiter mine = { .turn = PTHREAD_COND_INITIALIZER };

	pthread_mutex_lock(&mutex);
	if (!taken) {
		taken = 1;
	} else {
		*last = &mine;
		last = &mine.next;
		while (!mine.owner)
			pthread_cond_wait(&mine.turn, &mutex);
		first = mine.next;
		if (!first)
			last = &first;
	}
	pthread_mutex_unlock(&mutex);
}
static void unlock(void)
{
	pthread_mutex_lock(&mutex);
	if (!first) {
		taken = 0;
	} else {
		first->owner = 1;
		pthread_cond_signal(&first->turn);
	}
	pthread_mutex_unlock(&mutex);
}
#else
#error "which way to count?"
#endif
static void increment(void)
{
	lock();
	counter++;
	unlock();
}
#endif

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--)
		increment();
}
