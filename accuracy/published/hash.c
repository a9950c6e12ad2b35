/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A hash table of 262,144 buckets, read only: each thread looks up keys in steps of its own, half of which are there.
// Build with -DBUCKET_LOCKS for a lock in each bucket, without for one lock of all.
#define BEGINS
#include "../workload.h"

struct element {
	struct element *next, *previous;
	unsigned long hash, key;
	_Alignas(64) int in_table;
};

struct bucket {
	struct element *first, *last;
#ifdef BUCKET_LOCKS
	/* The source's spin locks are mutexes of pthreads. */
	pthread_mutex_t lock;
#endif
};

enum { KEYS = 262144 };

static struct {
	unsigned long buckets;
#ifndef BUCKET_LOCKS
	pthread_mutex_t lock;
#endif
	int (*matches)(const struct element *, unsigned long);
	struct bucket bucket[];
} *table;

static struct bucket *bucket_of(unsigned long hash)
{
	return &table->bucket[hash % table->buckets];
}

static pthread_mutex_t *lock_of(unsigned long hash)
{
#ifdef BUCKET_LOCKS
	return &bucket_of(hash)->lock;
#else
	(void)hash;
	return &table->lock;
#endif
}

static int matches(const struct element *element, unsigned long key)
{
	return element->key == key;
}

static __attribute__((noinline)) struct element *look_up(unsigned long key)
{
	struct element *element, *found = NULL;

	if (pthread_mutex_lock(lock_of(key)))
		abort();
	for (element = bucket_of(key)->first; element; element = element->next)
		if (element->hash == key && table->matches(element, key)) {
			found = element;
			break;
		}
	if (found && found->key != key)
		abort();
	if (pthread_mutex_unlock(lock_of(key)))
		abort();
	return found;
}

static void prepare(int threads)
{
	unsigned long random = 1;
	struct element *elements = aligned_alloc(64, KEYS * sizeof(*elements));

	(void)threads;
	table = calloc(1, sizeof(*table) + KEYS * sizeof(struct bucket));
	if (!table || !elements)
		exit(3);
	table->buckets = KEYS;
	table->matches = matches;
	for (unsigned long key = 0; key < KEYS; key++) {
		struct element *element = &elements[key];

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		*element = (struct element){ .hash = key, .key = key, .in_table = random >> 63 };
		if (element->in_table)
			bucket_of(key)->first = bucket_of(key)->last = element;
	}
}

/* The source's threads look up all keys first; here each its share, so that the lines lie with all of them. */
static void begin(int thread)
{
	for (unsigned long key = (unsigned long)thread; key < KEYS; key += (unsigned long)run_state.threads)
		look_up(key);
}

/* The nth prime. */
static long step_of(int thread)
{
	for (long n = 2;; n++) {
		int prime = 1;

		for (long d = 2; d * d <= n && prime; d++)
			prime = n % d != 0;
		if (prime && thread-- == 0)
			return n;
	}
}

static _Thread_local long key, step, offset;

static void work(int thread, long operations)
{
	if (!step) {
		step = step_of(thread);
		offset = KEYS / step * step == KEYS;
	}
	while (operations--) {
		look_up((unsigned long)key);
		key += step;
		if (key >= KEYS)
			key = key % KEYS + offset;
	}
}
