// SPDX-License-Identifier: MIT OR Apache-2.0
// Members of one structure that are badly placed, and the order that mends it.
// members THREADS limits: all read a limit beside what one counts; -DMOVED: the count is the last member; -DALIGNED: a member
// behind them is aligned, and the last one is written, too. What moves to before the aligned one falls into the hole that is there.
// members THREADS list: each walks a list from another place on, and uses two members of each record, the second so late that the
// two misses do not overlap; -DTOGETHER: side by side.
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000, RECORDS = 2000, MOST_THREADS = 64 };

static struct server {
	alignas(64) atomic_long limit;
#ifndef MOVED
	atomic_long hits;
#endif
#ifdef ALIGNED
	char host[40];
	alignas(128) char path[120];
	atomic_long total;
#endif
	char name[176];
#ifdef MOVED
	atomic_long hits;
#endif
} server;

struct record {
	long key;
#ifdef TOGETHER
	struct record *next;
#endif
	char name[120];
#ifndef TOGETHER
	struct record *next;
#endif
	char path[120];
};

static struct record *records[RECORDS];
static int threads;
static pthread_barrier_t begin;

static void *count(void *arg)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++)
		atomic_store_explicit(&server.hits, i, memory_order_relaxed);
#ifdef ALIGNED
	for (int i = 0; i < ROUNDS / 64; i++)
		atomic_fetch_add(&server.total, 64);
#endif
	return arg;
}

static void *check(void *arg)
{
	long below = 0;
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++)
		below += i < atomic_load_explicit(&server.limit, memory_order_relaxed);
#ifdef ALIGNED
	for (int i = 0; i < ROUNDS / 64; i++)
		below += atomic_load(&server.total) < 0;
#endif
	return below == ROUNDS ? arg : NULL;
}

/* Some hundred cycles, each step after the one before. */
static unsigned long mixed(unsigned long value)
{
	for (int i = 0; i < 24; i++)
		value = value * 6364136223846793005UL ^ value >> 29;
	return value;
}

static void *walk(void *arg)
{
	unsigned long sum = 0;
	pthread_barrier_wait(&begin);
	for (struct record *at = arg; at; at = at->next)
		sum += mixed(at->key);
	return sum > 0 ? arg : NULL;
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 2;
	int is_list = argc > 2 && !strcmp(argv[2], "list");
	pthread_t thread[MOST_THREADS];

	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	server.limit = ROUNDS;
	pthread_barrier_init(&begin, NULL, threads);
	for (long i = 0; is_list && i < RECORDS; i++) {
		records[i] = calloc(1, sizeof *records[i]);
		records[i]->key = i + 1;
		if (i)
			records[i - 1]->next = records[i];
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, is_list ? walk : i ? check : count, is_list ? (void *)records[i] : &server);
	for (int i = 0; i < threads; i++) {
		void *done;
		pthread_join(thread[i], &done);
		if (!done)
			return 1;
	}
	puts("done");
	return 0;
}
