/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Clients change their part of a table under the table's lock, and append what they did to the one journal, under its lock, before
 * they release the table. Half of the threads append long records without the table. Most threads wait for the table, and
 * those that hold it for the journal: as with jbd2's handles under a directory's lock, or a table's latch held over the log's.
 * Twin: a journal for each thread, and a table for each. journal_lock THREADS CHANGES
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 80, RECORD = 64 };

struct table {
	_Alignas(128) pthread_mutex_t latch;
	long changes;
};

struct journal {
	_Alignas(128) pthread_mutex_t tail_lock;
	unsigned long records[RECORD];
	long appended;
};

static struct table tables[MOST_THREADS];
static struct journal journals[MOST_THREADS];
static long changes;
static int threads;

#ifdef TWIN
#define OF(thread) (thread)
#else
#define OF(thread) 0
#endif

static unsigned long compute(unsigned long x, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static __attribute__((noinline)) unsigned long append(struct journal *journal, unsigned long x, int words)
{
	pthread_mutex_lock(&journal->tail_lock);
	for (int i = 0; i < words; i++)
		journal->records[i % RECORD] = x = compute(x, 5);
	journal->appended++;
	pthread_mutex_unlock(&journal->tail_lock);
	return x;
}

static __attribute__((noinline)) unsigned long change(struct table *table, struct journal *journal, unsigned long x)
{
	pthread_mutex_lock(&table->latch);
	table->changes++;
	x = append(journal, x, 2);
	pthread_mutex_unlock(&table->latch);
	return x;
}

static void *client(void *number)
{
	long thread = (long)number, mine = changes / threads;
	unsigned long x = (unsigned long)thread + 1;

	for (long i = 0; i < mine; i++) {
		if (thread % 2) {
			x = compute(x, 100);
			x = append(&journals[OF(thread)], x, 80);
		} else {
			x = compute(x, 800);
			x = change(&tables[OF(thread)], &journals[OF(thread)], x);
		}
	}
	return (void *)x;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST_THREADS];
	long appended = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	changes = argc > 2 ? atol(argv[2]) : 10000;
	if (threads < 1 || threads > MOST_THREADS)
		return 2;
	for (int i = 0; i < threads; i++) {
		pthread_mutex_init(&tables[i].latch, NULL);
		pthread_mutex_init(&journals[i].tail_lock, NULL);
	}
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, client, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < threads; i++)
		appended += journals[i].appended;
	printf("appended %ld\n", appended);
	return appended != changes / threads * threads;
}
