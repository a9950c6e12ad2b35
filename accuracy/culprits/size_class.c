/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Hoard's cache-thrash over an allocator whose threads all carve objects of 16 bytes from one superblock: objects of
 * four threads lie on a cache line (active false sharing), and each thread's free list gives it the same one again.
 * Twin: a superblock for each thread, as in Hoard. size_class THREADS OBJECTS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 80, OBJECT = 16, SUPERBLOCK = 2048 };

struct superblock {
	atomic_int used;
	_Alignas(64) unsigned char objects[SUPERBLOCK];
};

struct free_object {
	struct free_object *next;
};

struct word {
	int letters;
	int vowels;
	int seen;
};

#ifdef TWIN
static struct superblock superblocks[MOST_THREADS];
#define SUPERBLOCK_OF(thread) (&superblocks[thread])
#else
static struct superblock superblock;
#define SUPERBLOCK_OF(thread) (&superblock)
#endif

static _Thread_local struct free_object *free_list;
static _Thread_local int self;
static long objects;
static int threads;

static __attribute__((noinline)) void *small_malloc(void)
{
	struct free_object *object = free_list;

	if (object) {
		free_list = object->next;
		return object;
	}
	return SUPERBLOCK_OF(self)->objects + atomic_fetch_add(&SUPERBLOCK_OF(self)->used, OBJECT);
}

static __attribute__((noinline)) void small_free(void *object)
{
	struct free_object *freed = object;

	freed->next = free_list;
	free_list = freed;
}

/* A made-up word of 12 letters, counted in the object. */
static __attribute__((noinline)) void count_letters(struct word *w, unsigned long text)
{
	w->letters = w->vowels = w->seen = 0;
	for (int i = 0; i < 12; i++) {
		text = text * 6364136223846793005UL + 1442695040888963407UL;
		text ^= text >> 31;
		w->letters++;
		if ((0x104111UL >> (text % 26) & 1) != 0)
			w->vowels++;
	}
	w->seen++;
}

static void *worker(void *number)
{
	long mine = objects * ((long)number + 1) / threads - objects * (long)number / threads, letters = 0;

	self = (int)(long)number;
	for (long i = 0; i < mine; i++) {
		struct word *w = small_malloc();

		count_letters(w, (unsigned long)i);
		letters += w->vowels <= w->letters ? w->letters : 0;
		small_free(w);
	}
	return (void *)letters;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST_THREADS];
	long sum = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	objects = argc > 2 ? atol(argv[2]) : 100000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, worker, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *letters;

		pthread_join(thread[i], &letters);
		sum += (long)letters;
	}
	printf("%ld letters\n", sum);
	return sum != 12 * objects;
}
