/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// perfbook's resource allocator (smpalloc.c) without its caches: every allocation and every release of a memory block
// takes the mutex of the global pool. The twin has perfbook's parallel fast path: a small pool for each thread,
// which goes to the global pool for several blocks at once.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TARGET_POOL_SIZE 3
#define GLOBAL_POOL_SIZE 512

struct memblock {
	_Alignas(128) uint64_t words[8];
};

struct globalmempool {
	pthread_mutex_t mutex;
	int cur;
	struct memblock *pool[GLOBAL_POOL_SIZE];
};

struct user {
	_Alignas(128) pthread_t id;
	long allocations, failures;
	uint64_t digest;
	int cur;	/* the thread's own pool, used by the twin only */
	struct memblock *pool[2 * TARGET_POOL_SIZE];
};

static struct memblock memblocks[GLOBAL_POOL_SIZE];
static _Alignas(128) struct globalmempool globalmem = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cur = -1 };
static pthread_barrier_t start;

static struct memblock *memblock_alloc(struct user *user)
{
	struct memblock *p = NULL;

	(void)user;
#ifdef TWIN
	if (user->cur >= 0)
		return user->pool[user->cur--];
#endif
	pthread_mutex_lock(&globalmem.mutex);
#ifdef TWIN
	while (user->cur < TARGET_POOL_SIZE - 1 && globalmem.cur >= 0)
		user->pool[++user->cur] = globalmem.pool[globalmem.cur--];
#endif
	if (globalmem.cur >= 0)
		p = globalmem.pool[globalmem.cur--];
	pthread_mutex_unlock(&globalmem.mutex);
	return p;
}

static void memblock_free(struct user *user, struct memblock *p)
{
	(void)user;
#ifdef TWIN
	if (user->cur < 2 * TARGET_POOL_SIZE - 1) {
		user->pool[++user->cur] = p;
		return;
	}
#endif
	pthread_mutex_lock(&globalmem.mutex);
#ifdef TWIN
	while (user->cur >= TARGET_POOL_SIZE)
		globalmem.pool[++globalmem.cur] = user->pool[user->cur--];
#endif
	globalmem.pool[++globalmem.cur] = p;
	pthread_mutex_unlock(&globalmem.mutex);
}

__attribute__((noinline)) static uint64_t use(struct memblock *p, uint64_t seed)
{
	for (int i = 0; i < 24; i++) {
		seed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15u;
		p->words[i % 8] = seed;
	}
	return seed;
}

static void *memblock_test(void *argument)
{
	struct user *self = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->allocations; i++) {
		struct memblock *p = memblock_alloc(self);

		if (p) {
			self->digest += use(p, self->digest + (uint64_t)i);
			memblock_free(self, p);
		} else {
			self->failures++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000, failures = 0;
	struct user *users = aligned_alloc(128, (size_t)threads * sizeof *users);
	uint64_t digest = 0;

	for (int i = 0; i < GLOBAL_POOL_SIZE; i++)
		globalmem.pool[++globalmem.cur] = &memblocks[i];
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		users[t] = (struct user) { .allocations = work * (t + 1) / threads - work * t / threads, .cur = -1 };
		pthread_create(&users[t].id, NULL, memblock_test, &users[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(users[t].id, NULL);
		failures += users[t].failures;
		digest += users[t].digest;
	}
	printf("%ld allocations, %ld failed, digest %016llx\n", work, failures, (unsigned long long)digest);
	return failures != 0;
}
