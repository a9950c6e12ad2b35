// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread for each CPU makes objects and frees its own and those of others, for `corefold explore`: no object has two
// owners, none is lost, and in the end all memory is given back.
//   slab MAGAZINE OPERATIONS     objects in a magazine; operations of all threads
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_slab.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { SLOTS = 8, HELD = 6 };

struct object {
	uint64_t owner; // 0 when free: the constructor's
	uint64_t rest[40];
};

static struct cf_slab slab;
static struct object *exchange[SLOTS];
static long operations;
static uint64_t seed;
static int64_t charged, limit = INT64_MAX;

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "slab: %s\n", what);
	exit(1);
}

static int charge(void *unused, int64_t bytes)
{
	(void)unused;
	if (bytes > 0 && charged + bytes > limit)
		return -ENOMEM;
	charged += bytes;
	return 0;
}

static void construct(void *object)
{
	((struct object *)object)->owner = 0;
}

static void give(struct object *object)
{
	if (!object)
		return;
	check(object->owner != 0, "an object has no owner, but is in use");
	object->owner = 0;
	cf_slab_free(&slab, object);
}

static struct object *take(uint64_t owner)
{
	struct object *object = cf_slab_alloc(&slab);
	check(object || limit != INT64_MAX, "no memory");
	if (!object)
		return NULL;
	check(object->owner == 0, "an object has two owners");
	object->owner = owner;
	return object;
}

static void *thread(void *number)
{
	uint64_t random = seed ^ (uintptr_t)number * 0x9e3779b97f4a7c15u;
	struct object *held[HELD] = { NULL };
	for (long i = 0; i < operations; i++) {
		struct object **place;
		random = random * 6364136223846793005u + 1442695040888963407u;
		place = &held[(random >> 40) % HELD];
		if (!*place)
			*place = take((uintptr_t)number + 1);
		else
			*place = __atomic_exchange_n(&exchange[(random >> 50) % SLOTS], *place, __ATOMIC_ACQ_REL);
		if (random >> 60 == 0) {
			give(*place);
			*place = NULL;
		}
		if (random >> 57 == 127)
			cf_slab_shrink(&slab);
	}
	for (int i = 0; i < HELD; i++)
		give(held[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct cf_slab_options options = { .name = "object", .size = sizeof(struct object), .constructor = construct, .charge = charge };
	pthread_t threads[cpus];
	if (argc != 3 || atol(argv[2]) <= 0)
		return fprintf(stderr, "usage: slab MAGAZINE OPERATIONS\n"), 2;
	operations = (atol(argv[2]) + cpus - 1) / cpus;
	options.magazine = (uint32_t)atol(argv[1]);
	check(getrandom(&seed, sizeof seed, 0) == sizeof seed, "no randomness");
	if (seed % 3 == 0)
		limit = 100000; // less than all want
	check(cf_slab_init(&slab, &options) == 0, "no cache");
	for (long i = 0; i < cpus; i++)
		check(pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i) == 0, "no thread");
	for (long i = 0; i < cpus; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		give(exchange[i]);
	cf_slab_shrink(&slab);
	check(cf_slab_bytes(&slab) == 0 && charged == 0, "memory is left");
	check(cf_slab_destroy(&slab) == 0, "an object is lost");
	return 0;
}
