// SPDX-License-Identifier: MIT OR Apache-2.0
// What a lock and an object cost.
//   locks                          natively: nanoseconds of lock and unlock without contention, beside pthread's in the same
//                                  run; of an object's allocation and free, beside malloc's. Medians of interleaved rounds
//   locks KIND THREADS OPERATIONS  one lock (tests/lock_kinds.h), or `slab`, that all threads use; made for the lab, where
//                                  it marks progress. Prints operations of all threads in a microsecond, by its clock.
//                                  KIND:read is the lock for reading
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../tests/lock_kinds.h"
#include <corefold/cf_slab.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 21, LOOPS = 200000, BURST = 100 };

static int64_t nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// ---- without contention

static union any_lock lock CF_LINE_ALIGNED;
static union held held;
static struct cf_slab slab;
static pthread_mutex_t pthread_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t pthread_spin;
static pthread_rwlock_t pthread_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static volatile long value;
static void *burst[BURST];

#define LOOP(name, body)                                                                                               \
	static void name(void)                                                                                         \
	{                                                                                                              \
		for (int i = 0; i < LOOPS; i++) {                                                                      \
			body;                                                                                          \
		}                                                                                                      \
	}
#define GUARD(name, take, drop) LOOP(name, take; value = value + 1; drop)

GUARD(nothing, (void)0, (void)0)
GUARD(p_mutex, pthread_mutex_lock(&pthread_mutex), pthread_mutex_unlock(&pthread_mutex))
GUARD(p_spin, pthread_spin_lock(&pthread_spin), pthread_spin_unlock(&pthread_spin))
GUARD(p_write, pthread_rwlock_wrlock(&pthread_rwlock), pthread_rwlock_unlock(&pthread_rwlock))
GUARD(p_read, pthread_rwlock_rdlock(&pthread_rwlock), pthread_rwlock_unlock(&pthread_rwlock))
GUARD(k_mcs, cf_mcs_lock(&lock.mcs, &held.mcs), cf_mcs_unlock(&lock.mcs, &held.mcs))
GUARD(k_qspin, cf_qspin_lock(&lock.qspin), cf_qspin_unlock(&lock.qspin))
GUARD(k_mutex, cf_mutex_lock(&lock.mutex), cf_mutex_unlock(&lock.mutex))
GUARD(k_write, cf_rwsem_write_lock(&lock.rwsem), cf_rwsem_write_unlock(&lock.rwsem))
GUARD(k_read, cf_rwsem_read_lock(&lock.rwsem), cf_rwsem_read_unlock(&lock.rwsem))
GUARD(k_br_read, held.token = cf_brlock_read_lock(&lock.brlock), cf_brlock_read_unlock(&lock.brlock, held.token))
GUARD(k_br_write, cf_brlock_write_lock(&lock.brlock), cf_brlock_write_unlock(&lock.brlock))
GUARD(k_seq_write, cf_seqlock_write_lock(&lock.seqlock), cf_seqlock_write_unlock(&lock.seqlock))
LOOP(k_seq_read, uint32_t count = cf_seqlock_read_begin(&lock.seqlock); (void)value; (void)cf_seqlock_read_retry(&lock.seqlock, count))
LOOP(m_pair, burst[0] = malloc(592); *(volatile long *)burst[0] = i; free(burst[0]))
LOOP(s_pair, burst[0] = cf_slab_alloc(&slab); *(volatile long *)burst[0] = i; cf_slab_free(&slab, burst[0]))
#define BURSTS(take, drop)                                                                                             \
	for (int j = 0; j < BURST; j++)                                                                                \
		*(volatile long *)(burst[j] = take) = j;                                                               \
	for (int j = 0; j < BURST; j++)                                                                                \
		drop;                                                                                                  \
	i += BURST - 1
LOOP(m_burst, BURSTS(malloc(592), free(burst[j])))
LOOP(s_burst, BURSTS(cf_slab_alloc(&slab), cf_slab_free(&slab, burst[j])))

static const struct {
	const char *name, *init;
	void (*run)(void);
} rows[] = {
	{ "nothing but the loop", "mcs", nothing },
	{ "pthread_mutex", "mcs", p_mutex }, { "pthread_spin", "mcs", p_spin },
	{ "pthread_rwlock, write", "mcs", p_write }, { "pthread_rwlock, read", "mcs", p_read },
	{ "cf_mcs", "mcs", k_mcs }, { "cf_qspin", "qspin", k_qspin }, { "cf_mutex", "mutex", k_mutex },
	{ "cf_rwsem, write", "rwsem", k_write }, { "cf_rwsem, read", "rwsem", k_read },
	{ "cf_brlock, write", "brlock", k_br_write }, { "cf_brlock, read", "brlock", k_br_read },
	{ "cf_seqlock, write", "seqlock", k_seq_write }, { "cf_seqlock, read", "seqlock", k_seq_read },
	{ "malloc+free 592 bytes", "mcs", m_pair }, { "cf_slab alloc+free", "mcs", s_pair },
	{ "malloc+free, 100 at a time", "mcs", m_burst }, { "cf_slab, 100 at a time", "mcs", s_burst },
};
enum { ROWS = sizeof rows / sizeof *rows };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

// Beside one thread alone glibc's locks take no atomic operations.
static void *sleep_on(void *go)
{
	pthread_mutex_lock(go);
	pthread_mutex_unlock(go);
	return NULL;
}

static int table(void)
{
	static double times[ROWS][ROUNDS];
	static pthread_mutex_t go = PTHREAD_MUTEX_INITIALIZER;
	pthread_t other;
	pthread_mutex_lock(&go);
	if (pthread_create(&other, NULL, sleep_on, &go))
		return 1;
	pthread_spin_init(&pthread_spin, 0);
	if (cf_slab_init(&slab, &(struct cf_slab_options){ .name = "object", .size = 592 }))
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		for (int row = 0; row < ROWS; row++) {
			const struct lock_kind *kind = lock_kind_of(rows[row].init);
			int64_t begun;
			if (kind->init(&lock))
				return 1;
			begun = nanoseconds();
			rows[row].run();
			times[row][round] = (double)(nanoseconds() - begun) / LOOPS;
			if (kind->destroy)
				kind->destroy(&lock);
		}
	printf("%-28s %8s\n", "one thread of two, no contention", "ns");
	for (int row = 0; row < ROWS; row++) {
		qsort(times[row], ROUNDS, sizeof(double), by_size);
		printf("%-28s %8.1f\n", rows[row].name, times[row][ROUNDS / 2]);
	}
	pthread_mutex_unlock(&go);
	pthread_join(other, NULL);
	return cf_slab_destroy(&slab) != 0;
}

// ---- with contention

static const struct lock_kind *kind;
static bool reads;
static long operations;
static pthread_barrier_t begin CF_LINE_ALIGNED;
static long shared[4] CF_LINE_ALIGNED;

static void use_lock(void)
{
	union held mine;
	if (reads && kind->optimistic) {
		do {
			kind->read(&lock, &mine, NULL);
			(void)CF_SEQ_READ(shared[0]);
		} while (kind->try_read(&lock, &mine));
	} else if (reads) {
		kind->read(&lock, &mine, NULL);
		(void)CF_SEQ_READ(shared[0]);
		kind->read_unlock(&lock, &mine);
	} else {
		kind->lock(&lock, &mine, NULL);
		for (int i = 0; i < 4; i++)
			CF_SEQ_WRITE(shared[i], shared[i] + 1);
		kind->unlock(&lock, &mine);
	}
}

static void use_slab(void **held_objects, long i)
{
	void **place = &held_objects[i * 7 % BURST];
	cf_slab_free(&slab, *place);
	*place = cf_slab_alloc(&slab);
}

static void *thread(void *unused)
{
	void *objects[BURST] = { NULL };
	pthread_barrier_wait(&begin);
	CF_REGION_BEGIN();
	for (long i = 0; i < operations; i++) {
		if (kind)
			use_lock();
		else
			use_slab(objects, i);
		for (volatile int j = 0; j < 50; j = j + 1) // work of its own
			;
		CF_PROGRESS("operation");
	}
	CF_REGION_END();
	for (int i = 0; i < BURST; i++)
		cf_slab_free(&slab, objects[i]);
	return unused;
}

static int contend(int threads)
{
	pthread_t ids[threads];
	int64_t begun;
	if (kind ? kind->init(&lock) : cf_slab_init(&slab, &(struct cf_slab_options){ .name = "object", .size = 592 }))
		return 1;
	pthread_barrier_init(&begin, NULL, (unsigned)threads);
	begun = nanoseconds();
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, thread, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%.3f\n", (double)operations * threads * 1000 / (double)(nanoseconds() - begun));
	return kind ? kind->destroy ? (kind->destroy(&lock), 0) : 0 : cf_slab_destroy(&slab) != 0;
}

int main(int argc, char **argv)
{
	char *colon = argc == 4 ? strchr(argv[1], ':') : NULL;
	if (argc == 1)
		return table();
	if (colon)
		*colon = 0;
	reads = colon != NULL;
	kind = argc == 4 ? lock_kind_of(argv[1]) : NULL;
	if (argc != 4 || (!kind && strcmp(argv[1], "slab")) || (reads && !kind->read) || atoi(argv[2]) <= 0)
		return fprintf(stderr, "usage: locks [KIND[:read] THREADS OPERATIONS]\n"), 2;
	operations = (atol(argv[3]) + atoi(argv[2]) - 1) / atoi(argv[2]);
	return contend(atoi(argv[2]));
}
