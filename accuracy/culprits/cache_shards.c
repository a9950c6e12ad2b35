/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * RocksDB's LRU cache before its shards were aligned: each shard has its own mutex and counts, 56 bytes, one after
 * the other. Each thread uses its own shard, so no lock is ever waited for, but neighbours' mutexes and
 * counts share lines. Twin: shards are aligned to lines (the published fix). cache_shards THREADS LOOKUPS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HANDLES = 64 };

struct LRUHandle {
	unsigned key, hits;
};

struct LRUCacheShard {
#ifdef TWIN
	_Alignas(64)
#endif
	pthread_mutex_t mutex_;
	long usage_;
	struct LRUHandle *table_;
};

struct sharded_cache {
	long capacity;
	struct LRUCacheShard shards_[];
};

static struct sharded_cache *cache;
static long lookups;
static int threads;

static __attribute__((noinline)) long Lookup(struct LRUCacheShard *shard, unsigned key)
{
	struct LRUHandle *handle;
	long found;

	pthread_mutex_lock(&shard->mutex_);
	handle = &shard->table_[key % HANDLES];
	found = handle->key == key % HANDLES;
	handle->hits++;
	shard->usage_ += found;
	pthread_mutex_unlock(&shard->mutex_);
	return found;
}

static void *reader(void *number)
{
	struct LRUCacheShard *shard = &cache->shards_[(long)number];
	long mine = lookups * ((long)number + 1) / threads - lookups * (long)number / threads, found = 0;
	unsigned long key = (unsigned long)number;

	shard->table_ = aligned_alloc(64, HANDLES * sizeof *shard->table_);
	for (unsigned i = 0; i < HANDLES; i++)
		shard->table_[i] = (struct LRUHandle){ i, 0 };
	for (long i = 0; i < mine; i++) {
		for (int k = 0; k < 6; k++) {
			key = key * 6364136223846793005UL + 1442695040888963407UL;
			key ^= key >> 31;
		}
		found += Lookup(shard, (unsigned)key);
	}
	free(shard->table_);
	return (void *)found;
}

int main(int argc, char **argv)
{
	pthread_t *thread;
	long found = 0, usage = 0;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	lookups = argc > 2 ? atol(argv[2]) : 100000;
	cache = aligned_alloc(64, (sizeof *cache + (size_t)threads * sizeof *cache->shards_ + 63) / 64 * 64);
	thread = malloc((size_t)threads * sizeof *thread);
	for (int i = 0; i < threads; i++) {
		pthread_mutex_init(&cache->shards_[i].mutex_, NULL);
		cache->shards_[i].usage_ = 0;
	}
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, reader, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *one;

		pthread_join(thread[i], &one);
		found += (long)one;
		usage += cache->shards_[i].usage_;
	}
	printf("%ld found\n", found);
	free(cache);
	free(thread);
	return found != lookups || usage != lookups;
}
