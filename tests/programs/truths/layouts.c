/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Structures whose layout matters, and their mends as defines.
 *
 * layouts THREADS counters: an array of them (-DSLOTS).
 * layouts THREADS statistics: a written word beside a read one (-DAPART).
 * layouts THREADS queue: a lock beside what it guards, and beside a word that all look at.
 * layouts THREADS watch: the same structure, whose lock one takes while the others only look at what it guards.
 * layouts THREADS bytes: objects of several threads, carved out of one array of bytes (-DROOM=64).
 * layouts THREADS hidden: four variables of four threads on one line (-DALONE).
 * layouts THREADS mixed: a spin lock in the larger of two objects that one call allocates; the smaller is freed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, ROUNDS = 20000 };

#ifdef APART
#define LINE _Alignas(64)
#else
#define LINE
#endif
#ifdef SLOTS
#define SLOT _Alignas(64)
#else
#define SLOT
#endif
#ifndef ROOM
#define ROOM 16
#endif
#ifdef ALONE
#define VARIABLE _Alignas(64)
#else
#define VARIABLE _Alignas(16)
#endif

struct statistics {
	LINE _Atomic long hits;
	LINE long limit;
	char name[40];
};

struct queue {
	pthread_mutex_t lock;
	long head, pad[2];
	_Atomic long stop;
};

struct mixed {
	volatile int lock;
	int data;
	long pad[4];
};

static struct mixed *mixed;
static struct {
	SLOT _Atomic long mine;
} slot[MOST];
static _Alignas(64) unsigned char pool[MOST * ROOM];
/* One section, so that they and nothing else fill a line. */
#define ON_THE_LINE __attribute__((section("line"), used))
static ON_THE_LINE _Alignas(64) char boundary[64] = { 1 };
struct variable {
	VARIABLE _Atomic long mine;
};
static ON_THE_LINE struct variable north = { 1 }, east = { 1 }, south = { 1 }, west = { 1 };
static struct statistics *statistics;
static struct queue *queue;
static pthread_barrier_t begin;

static void *count(void *number)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++)
		atomic_fetch_add(&slot[(long)number].mine, i);
	return NULL;
}

static void *carve(void *number)
{
	_Atomic long *mine = (_Atomic long *)(pool + (long)number * ROOM);

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++)
		atomic_fetch_add(mine, i);
	return NULL;
}

static void *hide(void *number)
{
	struct variable *all[] = { &north, &east, &south, &west };

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS && (long)number < 4; i++)
		atomic_fetch_add(&all[(long)number]->mine, i);
	return NULL;
}

static void *judge(void *number)
{
	long me = (long)number, x = 0;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		if (me == 0)
			atomic_fetch_add(&statistics->hits, 1);
		else
			x += *(volatile long *)&statistics->limit;
	}
	return (void *)x;
}

static void *take(void *unused)
{
	long x = (long)unused;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS / 20; i++) {
		pthread_mutex_lock(&queue->lock);
		queue->head++;
		pthread_mutex_unlock(&queue->lock);
		for (int look = 0; look < 20; look++)
			x += atomic_load_explicit(&queue->stop, memory_order_relaxed);
	}
	return (void *)x;
}

static void *watch(void *number)
{
	long x = 0;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		for (int look = 0; number && look < 10; look++)
			x += *(volatile long *)&queue->head;
		if (!number) {
			pthread_mutex_lock(&queue->lock);
			pthread_mutex_unlock(&queue->lock);
		}
	}
	return (void *)x;
}

static void *spin(void *unused)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS / 20; i++) {
		while (__sync_lock_test_and_set(&mixed->lock, 1))
			while (mixed->lock)
				__builtin_ia32_pause();
		mixed->data++;
		__sync_lock_release(&mixed->lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 4, sum = 0;
	const char *how = argc > 2 ? argv[2] : "counters";
	static void *(*const works[128])(void *) = {
		['b'] = carve, ['h'] = hide, ['q'] = take, ['w'] = watch, ['s'] = judge, ['m'] = spin, ['c'] = count,
	};
	void *(*work)(void *) = works[*how & 127];
	void *objects[2];

	for (volatile int i = 0; i < 2; i++)
		objects[i] = calloc(1, i ? sizeof *mixed : 8);
	free(objects[0]);
	mixed = objects[1];
	pthread_t thread[MOST];

	statistics = aligned_alloc(64, (sizeof *statistics + 63) / 64 * 64);
	memset(statistics, 0, sizeof *statistics);
	queue = calloc(1, sizeof *queue);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_barrier_init(&begin, NULL, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (long i = 0; i < threads; i++)
		sum += slot[i].mine;
	printf("%ld %ld %ld\n", sum, statistics->hits, queue->head);
	return mixed->data != (*how == 'm') * threads * (ROUNDS / 20);
}
