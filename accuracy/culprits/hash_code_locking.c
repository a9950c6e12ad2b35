/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// perfbook's "Code Locking": one mutex around the whole hash table, though each thread works with keys of its own.
// The twin is its "Data Locking": a lock in each bucket, a bucket on lines of its own.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 32		/* of each thread */

struct node {
	uint64_t key, value;
	struct node *next;
};

struct bucket {
	_Alignas(128) pthread_mutex_t bucket_lock;
	struct node *list_head;
};

struct hash_table {
	long nbuckets;
	struct bucket *buckets;
};

struct client {
	_Alignas(128) pthread_t id;
	uint64_t first_key, sum;
	long operations;
};

static struct hash_table h;
static pthread_barrier_t start;
#ifndef TWIN
static _Alignas(64) pthread_mutex_t hash_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static struct node *hash_search(struct bucket *bucket, uint64_t key)
{
	struct node *node = bucket->list_head;

	while (node && node->key != key)
		node = node->next;
	return node;
}

// Adds to the key's value and returns it; a key that is not there is inserted.
__attribute__((noinline)) static uint64_t hash_add(uint64_t key, uint64_t value)
{
	struct bucket *bucket = &h.buckets[key % (uint64_t)h.nbuckets];
	struct node *node;

#ifdef TWIN
	pthread_mutex_lock(&bucket->bucket_lock);
#else
	pthread_mutex_lock(&hash_lock);
#endif
	node = hash_search(bucket, key);
	if (!node) {
		node = aligned_alloc(64, 64);
		node->key = key;
		node->value = 0;
		node->next = bucket->list_head;
		bucket->list_head = node;
	}
	value = node->value += value;
#ifdef TWIN
	pthread_mutex_unlock(&bucket->bucket_lock);
#else
	pthread_mutex_unlock(&hash_lock);
#endif
	return value;
}

static void *run(void *argument)
{
	struct client *self = argument;
	uint64_t next = 88172645463325252u;

	for (uint64_t key = 0; key < KEYS; key++)
		hash_add(self->first_key + key, 0);
	pthread_barrier_wait(&start);
	for (long i = 0; i < self->operations; i++) {
		for (int step = 0; step < 16; step++) {
			next ^= next << 13;
			next ^= next >> 7;
			next ^= next << 17;
		}
		hash_add(self->first_key + next % KEYS, 1);
	}
	for (uint64_t key = 0; key < KEYS; key++)
		self->sum += hash_add(self->first_key + key, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct client *clients = aligned_alloc(128, (size_t)threads * sizeof *clients);
	uint64_t sum = 0;

	h.nbuckets = threads * KEYS;
	h.buckets = aligned_alloc(128, (size_t)h.nbuckets * sizeof *h.buckets);
	for (long i = 0; i < h.nbuckets; i++)
		h.buckets[i] = (struct bucket) { PTHREAD_MUTEX_INITIALIZER, NULL };
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		clients[t] = (struct client) { .operations = work * (t + 1) / threads - work * t / threads };
		clients[t].first_key = (uint64_t)t * KEYS;
		pthread_create(&clients[t].id, NULL, run, &clients[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(clients[t].id, NULL);
		sum += clients[t].sum;
	}
	printf("%llu additions\n", (unsigned long long)sum);
	return sum != (uint64_t)work;
}
