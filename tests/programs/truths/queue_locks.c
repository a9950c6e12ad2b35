/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * queue_locks THREADS HOW: locks whose waiters queue, each of which spins on a word of its own; two of them, of which half of
 * the threads take the first, TURNS times each. Says how often a thread has waited for the first.
 *   mcs, clh, numbers: locks; numbers: as mcs, with numbers of nodes instead of addresses
 *   links, counts, naps: mcs, whose threads link themselves by an exchange, count themselves between, sleep between looks
 *   object: each thread exchanges the address of an object, then takes that object's lock, a word that it updates
 *   barrier, signals, flag: no locks. All threads update a word, then meet at a barrier: spin on a word of their own for each
 *   round (dissemination; signals: by exchanges), or all on one
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 300, MOST = 64, ROUNDS = 6 };

struct node {
	_Alignas(64) atomic_int waiting;
	_Atomic(struct node *) next;
	atomic_int next_number;
};

static struct lock {
	_Alignas(64) _Atomic(struct node *) tail;
	atomic_int last, word;
	_Alignas(64) long guarded, waited;
} locks[2];

static struct node nodes[MOST + 2];
static _Alignas(64) atomic_int arrivals, last_to_arrive;
static _Alignas(64) _Atomic(struct lock *) last_used;
static _Alignas(64) atomic_int flag;
static _Alignas(64) atomic_int flags[MOST][ROUNDS][16];
static pthread_barrier_t begin;
static const char *how;
static int threads;

static int is(const char *name)
{
	return !strcmp(how, name);
}

static int wait_for(struct node *n)
{
	int waits = 0;

	for (int i = 0; atomic_load_explicit(&n->waiting, memory_order_acquire); i++, waits = 1) {
		if (is("naps") && i % 64 == 63)
			usleep(1);
		__builtin_ia32_pause();
	}
	return waits;
}

static void hand_over(struct node *n)
{
	atomic_store_explicit(&n->waiting, 0, memory_order_release);
}

static int mcs_lock(struct lock *lock, struct node *mine)
{
	struct node *before;

	atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&mine->waiting, 1, memory_order_relaxed);
	before = atomic_exchange(&lock->tail, mine);
	if (!before)
		return 0;
	if (is("counts"))
		atomic_fetch_add(&arrivals, 1);
	if (is("links"))
		atomic_exchange(&before->next, mine);
	else
		atomic_store_explicit(&before->next, mine, memory_order_release);
	return wait_for(mine);
}

static void mcs_unlock(struct lock *lock, struct node *mine)
{
	struct node *expected = mine, *next = atomic_load(&mine->next);

	if (!next && atomic_compare_exchange_strong(&lock->tail, &expected, NULL))
		return;
	while (!(next = atomic_load(&mine->next)))
		__builtin_ia32_pause();
	hand_over(next);
}

/* The thread's node becomes that of the one before. */
static int clh_lock(struct lock *lock, struct node **mine, struct node **before)
{
	atomic_store_explicit(&(*mine)->waiting, 1, memory_order_relaxed);
	*before = atomic_exchange(&lock->tail, *mine);
	return wait_for(*before);
}

static int numbers_lock(struct lock *lock, int number)
{
	struct node *mine = &nodes[number];
	int before;

	atomic_store_explicit(&mine->next_number, 0, memory_order_relaxed);
	atomic_store_explicit(&mine->waiting, 1, memory_order_relaxed);
	before = atomic_exchange(&lock->last, number);
	if (!before)
		return 0;
	atomic_store_explicit(&nodes[before].next_number, number, memory_order_release);
	return wait_for(mine);
}

static void numbers_unlock(struct lock *lock, int number)
{
	int expected = number, next = atomic_load(&nodes[number].next_number);

	if (!next && atomic_compare_exchange_strong(&lock->last, &expected, 0))
		return;
	while (!(next = atomic_load(&nodes[number].next_number)))
		__builtin_ia32_pause();
	hand_over(&nodes[next]);
}

static void object_lock(struct lock *lock)
{
	atomic_exchange(&last_used, lock);
	while (atomic_exchange(&lock->word, 1))
		while (atomic_load_explicit(&lock->word, memory_order_relaxed))
			__builtin_ia32_pause();
}

/* A word that counts is updated just before. */
static void meet_by_rounds(int thread, int turn)
{
	atomic_fetch_add(&arrivals, 1);
	for (int round = 0; 1 << round < threads; round++) {
		int other = (thread + (1 << round)) % threads;

		if (is("signals"))
			atomic_exchange(&flags[other][round][0], turn);
		else
			atomic_store_explicit(&flags[other][round][0], turn, memory_order_release);
		while (atomic_load_explicit(&flags[thread][round][0], memory_order_acquire) < turn)
			__builtin_ia32_pause();
	}
}

/* A word to which each thread exchanges its number. */
static void meet_at_a_flag(int thread, int turn)
{
	atomic_exchange(&last_to_arrive, thread + 1);
	if (atomic_fetch_add(&arrivals, 1) + 1 == threads * turn)
		atomic_store_explicit(&flag, turn, memory_order_release);
	atomic_exchange(&last_to_arrive, thread + 1);
	while (atomic_load_explicit(&flag, memory_order_acquire) < turn)
		__builtin_ia32_pause();
}

static void work_on(struct lock *lock)
{
	for (volatile int k = 0; k < 50; k++)
		;
	lock->guarded++;
}

static void *work(void *argument)
{
	int thread = (int)(long)argument, waits;
	struct lock *lock = &locks[thread % 2];
	struct node *mine = &nodes[thread + 1], *before;

	pthread_barrier_wait(&begin);
	for (int turn = 1; turn <= TURNS; turn++) {
		if (is("mcs") || is("links") || is("counts") || is("naps")) {
			waits = mcs_lock(lock, mine);
			work_on(lock);
			lock->waited += waits;
			mcs_unlock(lock, mine);
		} else if (is("object")) {
			object_lock(lock);
			work_on(lock);
			atomic_store_explicit(&lock->word, 0, memory_order_release);
		} else if (is("clh")) {
			waits = clh_lock(lock, &mine, &before);
			work_on(lock);
			lock->waited += waits;
			hand_over(mine);
			mine = before;
		} else if (is("numbers")) {
			waits = numbers_lock(lock, thread + 1);
			work_on(lock);
			lock->waited += waits;
			numbers_unlock(lock, thread + 1);
		} else if (is("barrier") || is("signals")) {
			meet_by_rounds(thread, turn);
		} else {
			meet_at_a_flag(thread, turn);
		}
		for (volatile int k = 0; k < 20 * (thread + 1); k++)
			;
	}
	return NULL;
}

int main(int count, char **arguments)
{
	static struct node free_nodes[2];
	pthread_t thread[MOST];

	threads = count > 1 ? atoi(arguments[1]) : 1;
	how = count > 2 ? arguments[2] : "mcs";
	for (int i = 0; i < 2 && is("clh"); i++)
		locks[i].tail = &free_nodes[i];
	pthread_barrier_init(&begin, NULL, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", locks[0].waited);
	return !is("barrier") && !is("signals") && !is("flag") && locks[0].guarded + locks[1].guarded != (long)threads * TURNS;
}
