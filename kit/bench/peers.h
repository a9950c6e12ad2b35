/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * peers.h: what one would use without the kit, for the bench.
 *   atomic    one atomic word
 *   mutex     a pthread mutex about a word
 *   threads   a counter for each thread, in a list that a sum walks under a mutex; nothing folds, nothing is bounded
 *   sharded   padded atomics, a thread picks one by its number; a sum reads all: LongAdder's design
 *   bare      a thread's own plain word, which nobody else can read: the floor, not a counter
 */
#ifndef KIT_BENCH_PEERS_H
#define KIT_BENCH_PEERS_H

#include <corefold/cf_shim.h>
#include <pthread.h>
#include <stdlib.h>

struct peer_mutex {
	pthread_mutex_t mutex;
	int64_t value;
};

struct peer_thread {
	int64_t value; /* written by its thread, read by sums */
	struct peer_thread *next;
} CF_LINE_ALIGNED;

struct peer_threads {
	pthread_mutex_t mutex; /* of the list */
	struct peer_thread *first;
};

static __thread struct peer_thread *peer_mine;

static inline void peer_threads_join(struct peer_threads *p)
{
	peer_mine = aligned_alloc(CF_LINE, sizeof *peer_mine);
	peer_mine->value = 0;
	pthread_mutex_lock(&p->mutex);
	peer_mine->next = p->first;
	p->first = peer_mine;
	pthread_mutex_unlock(&p->mutex);
}

static inline void peer_threads_add(int64_t amount)
{
	/* Relaxed: one writer; readers ask no order. */
	__atomic_store_n(&peer_mine->value, __atomic_load_n(&peer_mine->value, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

static inline int64_t peer_threads_sum(struct peer_threads *p)
{
	int64_t sum = 0;
	pthread_mutex_lock(&p->mutex);
	for (struct peer_thread *t = p->first; t; t = t->next)
		sum += __atomic_load_n(&t->value, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&p->mutex);
	return sum;
}

enum { PEER_SHARDS = 64 };

struct peer_sharded {
	struct {
		int64_t value;
	} CF_LINE_ALIGNED shard[PEER_SHARDS];
};

static __thread unsigned peer_number;

static inline void peer_sharded_add(struct peer_sharded *p, int64_t amount)
{
	__atomic_fetch_add(&p->shard[peer_number % PEER_SHARDS].value, amount, __ATOMIC_RELAXED); /* relaxed: a sum of parts */
}

static inline int64_t peer_sharded_sum(const struct peer_sharded *p)
{
	int64_t sum = 0;
	for (int i = 0; i < PEER_SHARDS; i++)
		sum += __atomic_load_n(&p->shard[i].value, __ATOMIC_RELAXED);
	return sum;
}

#endif
