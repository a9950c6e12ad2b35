/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// memcached before 1.4.23: every hit moves its item to the head of the one LRU list, under the global cache_lock
// (and without the later rule that an item is moved once a minute at most).
// The twin shards the cache, as LevelDB's ShardedLRUCache does: a list and a lock for each thread's items.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 64
#define VALUE 192

struct item {
	struct item *next, *prev;
	uint64_t key;
	_Alignas(64) unsigned char data[VALUE];
};

struct lru {
	_Alignas(128) pthread_mutex_t cache_lock;
	struct item *head, *tail;
	struct item *items;
};

struct connection {
	_Alignas(128) pthread_t id;
	struct lru *lru;
	long gets;
	uint64_t hits;
	uint32_t checksum;
};

static pthread_barrier_t start;

static void item_link_q(struct lru *lru, struct item *it)
{
	it->prev = NULL;
	it->next = lru->head;
	if (it->next)
		it->next->prev = it;
	lru->head = it;
	if (!lru->tail)
		lru->tail = it;
}

static void item_unlink_q(struct lru *lru, struct item *it)
{
	if (lru->head == it)
		lru->head = it->next;
	if (lru->tail == it)
		lru->tail = it->prev;
	if (it->next)
		it->next->prev = it->prev;
	if (it->prev)
		it->prev->next = it->next;
}

__attribute__((noinline)) static struct item *item_get(struct lru *lru, uint64_t key)
{
	struct item *it = &lru->items[key % ITEMS];

	pthread_mutex_lock(&lru->cache_lock);
	item_unlink_q(lru, it);
	item_link_q(lru, it);
	pthread_mutex_unlock(&lru->cache_lock);
	return it;
}

static struct lru *lru_new(void)
{
	struct lru *lru = aligned_alloc(128, sizeof *lru);

	*lru = (struct lru) { .cache_lock = PTHREAD_MUTEX_INITIALIZER };
	lru->items = aligned_alloc(64, ITEMS * sizeof *lru->items);
	for (uint64_t i = 0; i < ITEMS; i++) {
		lru->items[i].key = i;
		for (int b = 0; b < VALUE; b++)
			lru->items[i].data[b] = (unsigned char)i;
		item_link_q(lru, &lru->items[i]);
	}
	return lru;
}

__attribute__((noinline)) static uint32_t write_response(const struct item *it)
{
	uint32_t sum = (uint32_t)it->key;

	for (int i = 0; i < VALUE; i += 4)
		sum = (sum << 1 | sum >> 31) + it->data[i];
	return sum;
}

static void *serve(void *argument)
{
	struct connection *self = argument;
	uint64_t key = 88172645463325252u;

#ifdef TWIN
	self->lru = lru_new();
#endif
	pthread_barrier_wait(&start);
	for (long i = 0; i < self->gets; i++) {
		key = key * 6364136223846793005u + 1442695040888963407u;
		struct item *it = item_get(self->lru, key >> 40);

		self->checksum ^= write_response(it);
		self->hits += it->key == (key >> 40) % ITEMS;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct connection *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	struct lru *lru = NULL;
	uint64_t hits = 0;
	uint32_t checksum = 0;

#ifndef TWIN
	lru = lru_new();
#endif
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		all[t] = (struct connection) { .lru = lru, .gets = work * (t + 1) / threads - work * t / threads };
		pthread_create(&all[t].id, NULL, serve, &all[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		hits += all[t].hits;
		checksum ^= all[t].checksum;
	}
	printf("%llu hits, checksum %08x\n", (unsigned long long)hits, checksum);
	return hits != (uint64_t)work;
}
