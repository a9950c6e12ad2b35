/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Counters of the statistical and of the limited kind, one update (or one reading of the sum) an operation.
// Build with one of -DSHARED, -DSHARED_ATOMIC, -DOWN_SLOT, -DOWN_SLOT_ATOMIC, -DOWN_TLS, -DLIMIT, -DLIMIT_ATOMIC,
// -DAT_THE_LIMIT; with -DOWN_SLOT -DEVENTUAL: a further thread adds the slots up every millisecond; or -DREAD -DSLOTS=N: as
// many slots as the sum has.
#define BEGINS
#include "../workload.h"
#include <poll.h>

#ifndef SLOTS
#define SLOTS MOST_THREADS
#endif

static _Alignas(64) volatile unsigned long shared;
static _Alignas(64) atomic_int shared_atomic;
static struct { _Alignas(64) volatile unsigned long value; } slot[SLOTS];
static struct { _Alignas(64) atomic_int value; } atomic_slot[SLOTS];
static _Thread_local volatile unsigned long own;
static volatile unsigned long sum_seen[MOST_THREADS][8];

#if defined(LIMIT) || defined(LIMIT_ATOMIC) || defined(AT_THE_LIMIT)
/* The source's spin locks are mutexes of pthreads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
#if defined(OWN_SLOT) || defined(OWN_SLOT_ATOMIC)
/* The source keeps each thread's number so, and asks for it at each update. */
static pthread_key_t number_key;

#if defined(EVENTUAL)
static unsigned long eventual;

static void *add_up(void *threads)
{
	for (;;) {
		unsigned long sum = 0;

		for (long s = 0; s < (long)threads; s++)
			sum += slot[s].value;
		__atomic_store_n(&eventual, sum, __ATOMIC_RELAXED);
		poll(NULL, 0, 1);
	}
	return NULL;
}
#endif

static void prepare(int threads)
{
	pthread_key_create(&number_key, NULL);
#if defined(EVENTUAL)
	pthread_t thread;

	if (pthread_create(&thread, NULL, add_up, (void *)(long)threads))
		abort();
#endif
	(void)threads;
}

static long own_number(int thread)
{
	char *number = pthread_getspecific(number_key);

	if (!number) {
		pthread_setspecific(number_key, (char *)(thread + 1L));
		return thread;
	}
	return number - (char *)1;
}
#else
static void prepare(int threads) { (void)threads; }
#endif

#if defined(SHARED)
static void update(int thread, long turn) { (void)thread, (void)turn, shared++; }
#elif defined(SHARED_ATOMIC)
static void update(int thread, long turn) { (void)thread, (void)turn, atomic_fetch_add(&shared_atomic, 1); }
#elif defined(OWN_SLOT)
static void update(int thread, long turn) { (void)turn, slot[own_number(thread)].value++; }
#elif defined(OWN_SLOT_ATOMIC)
static void update(int thread, long turn) { (void)turn, atomic_fetch_add(&atomic_slot[own_number(thread)].value, 1); }
#elif defined(OWN_TLS)
static void update(int thread, long turn) { (void)thread, (void)turn, own++; }
#elif defined(READ)
static void update(int thread, long turn)
{
	unsigned long sum = 0;

	(void)turn;
	for (int s = 0; s < SLOTS; s++)
		sum += slot[s].value;
	sum_seen[thread][0] = sum;
}
#else
/* Each thread may count up to a share of its own before it has to take the lock: up by one, down by one. */
#if defined(AT_THE_LIMIT)
/*
 * A share is no larger than the count, which is 0 or 1 here: all updates take the lock. How many threads there are is counted
 * each time in a map of all that there may be: as many as the slots of the sum that the same library reads.
 */
enum { MOST = 10000, MAP = 636 };
static unsigned long map[MAP] = { 2 };

static unsigned long running(void)
{
	unsigned long threads = 0;

	for (int t = 0; t < MAP; t++)
		threads += map[t] != 0 && map[t] != 1;
	return threads;
}
#else
enum { MOST = 100000001 };
#endif
static unsigned long total, reserved;
static _Thread_local volatile unsigned long count, share;
static _Thread_local atomic_uint count_and_share;

static void take_a_share(unsigned long room)
{
#if defined(AT_THE_LIMIT)
	unsigned long mine = (total < room ? total : room) / running();
#else
	unsigned long mine = room / (unsigned long)run_state.threads;
#endif

	reserved += mine;
	share = mine;
	count = mine / 2 < total ? mine / 2 : total;
	total -= count;
}

static void settle(void)
{
	total += count;
	reserved -= share;
	count = share = 0;
}

static __attribute__((noinline)) void slowly(long step)
{
	pthread_mutex_lock(&lock);
	settle();
	if (step < 0 ? total > 0 : total + reserved < MOST) {
		total += (unsigned long)step;
		take_a_share(MOST - total - reserved);
	}
	pthread_mutex_unlock(&lock);
}
#if defined(LIMIT_ATOMIC)
static void update(int thread, long turn)
{
	unsigned seen = atomic_load_explicit(&count_and_share, memory_order_relaxed), next;

	(void)thread;
	/* 16 bits each; a share of 1000, half used. */
	if (!seen)
		seen = 500u << 16 | 1000, atomic_store(&count_and_share, seen);
	do {
		unsigned have = seen >> 16, may = seen & 0xffff;

		if (turn % 2 ? have < 1 : have + 1 > may)
			return slowly(turn % 2 ? -1 : 1);
		next = (turn % 2 ? have - 1 : have + 1) << 16 | may;
	} while (!atomic_compare_exchange_strong(&count_and_share, &seen, next));
}
#else
static void update(int thread, long turn)
{
	(void)thread;
	if (turn % 2 ? count >= 1 : share - count >= 1)
		count += turn % 2 ? -1ul : 1;
	else
		slowly(turn % 2 ? -1 : 1);
}
#endif
#endif

/* The first one of all takes the lock of a counter with a limit. */
static void begin(int thread)
{
#if defined(AT_THE_LIMIT)
	map[thread + 1] = pthread_self();
	update(thread, 0);
	update(thread, 1);
#else
	update(thread, 0);
#endif
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++)
		update(thread, i);
#if defined(AT_THE_LIMIT)
	/* What went up comes down. */
	if (operations % 2)
		update(thread, 1);
#endif
}
