// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness.h"
#include <corefold/cf_slab.h>

#include <sys/mman.h>

static struct cf_slab slab;

static void begin(struct cf_slab_options options)
{
	CHECK_EQUAL(cf_slab_init(&slab, &options), 0);
}

static struct cf_slab_stats stats_now(void)
{
	struct cf_slab_stats stats;
	cf_slab_stats(&slab, &stats);
	return stats;
}

static void end_empty(void)
{
	cf_slab_shrink(&slab);
	CHECK_EQUAL(stats_now().slabs, 0);
	CHECK_EQUAL(stats_now().allocated, 0);
	CHECK_EQUAL(stats_now().cached, 0);
	CHECK_EQUAL(cf_slab_bytes(&slab), 0);
	CHECK_EQUAL(cf_slab_destroy(&slab), 0);
}

TEST("what cannot be is refused")
{
	struct cf_slab_options bad[] = { { .size = 0 }, { .size = 8193 }, { .size = 8, .align = 3 }, { .size = 8, .align = 8192 },
					 { .size = 8, .magazine = 256 } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_EQUAL(cf_slab_init(&slab, &bad[i]), -EINVAL);
	CHECK_EQUAL(cf_slab_init(&slab, NULL), -EINVAL);
}

static void construct(void *object)
{
	memset(object, 0x5a, 16);
}

// What /proc/slabinfo and `slabinfo -l` of Linux show for such caches (objects and pages in a slab).
TEST("objects are packed as SLUB packs them")
{
	const struct {
		struct cf_slab_options options;
		uint32_t stride, objects, pages;
	} cases[] = {
		{ { .size = 192, .cpus = 8 }, 192, 21, 1 },  // a dentry
		{ { .size = 584, .cpus = 8 }, 584, 28, 4 },  // an inode, no constructor
		{ { .size = 592, .cpus = 8 }, 592, 27, 4 },
		{ { .size = 584, .cpus = 8, .constructor = construct }, 592, 27, 4 },
		{ { .size = 8, .cpus = 8 }, 8, 512, 1 },
		{ { .size = 100, .align = 64, .cpus = 8 }, 128, 32, 1 },
		{ { .size = 100, .cpus = 8, .flags = CF_SLAB_LINES }, 128, 32, 1 },
		{ { .size = 24, .cpus = 8, .flags = CF_SLAB_LINES }, 32, 128, 1 },
		{ { .size = 8192, .cpus = 8 }, 8192, 4, 8 },
		{ { .size = 192, .cpus = 80 }, 192, 42, 2 }, // more CPUs, larger slabs
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin(cases[i].options);
		CHECK_EQUAL(slab.stride, cases[i].stride);
		CHECK_EQUAL(slab.objects, cases[i].objects);
		CHECK_EQUAL(slab.slab_bytes, cases[i].pages * 4096);
		CHECK_EQUAL(cf_slab_destroy(&slab), 0);
	}
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
	return x < y ? -1 : x > y;
}

TEST("objects do not overlap, and lie where the packing says")
{
	enum { MANY = 5000 };
	static uintptr_t objects[MANY];
	for (uint32_t size = 8; size < 3000; size += 8 + size / 3) {
		begin((struct cf_slab_options){ .size = size });
		for (int i = 0; i < MANY; i++) {
			objects[i] = (uintptr_t)cf_slab_alloc(&slab);
			CHECK(objects[i] != 0);
			memset((void *)objects[i], i, size);
		}
		CHECK_EQUAL(stats_now().allocated, MANY);
		CHECK(cf_slab_bytes(&slab) >= (uint64_t)size * MANY);
		for (int i = 0; i < MANY; i++) // whoever overlaps has written here
			CHECK(*(unsigned char *)objects[i] == (unsigned char)i &&
			      ((unsigned char *)objects[i])[size - 1] == (unsigned char)i);
		for (int i = 0; i < MANY; i++)
			CHECK_EQUAL((objects[i] & (slab.slab_bytes - 1)) % slab.stride, 0);
		qsort(objects, MANY, sizeof *objects, by_address);
		for (int i = 0; i < MANY; i++) {
			CHECK(!i || objects[i] - objects[i - 1] >= slab.stride);
			cf_slab_free(&slab, (void *)objects[i]);
		}
		end_empty();
	}
}

static uint64_t bytes_for(uint32_t objects)
{
	uint32_t slabs = (objects + slab.magazine + slab.objects - 1) / slab.objects;
	return (uint64_t)slabs * slab.slab_bytes;
}

TEST("slabs are filled before others are mapped, and where some were given back they are used again")
{
	enum { MANY = 12000, HEAD = 16384 };
	static void *objects[MANY];
	begin((struct cf_slab_options){ .size = 600 }); // several regions
	pin(0);
	for (int i = 0; i < MANY; i++)
		objects[i] = cf_slab_alloc(&slab);
	CHECK(cf_slab_bytes(&slab) <= bytes_for(MANY) + 4 * HEAD);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = MANY / 4; i < MANY / 2; i++)
			cf_slab_free(&slab, objects[i]);
		cf_slab_shrink(&slab);
		CHECK(cf_slab_bytes(&slab) <= bytes_for(MANY * 3 / 4) + 4 * HEAD);
		for (int i = MANY / 4; i < MANY / 2; i++)
			objects[i] = cf_slab_alloc(&slab);
		CHECK(cf_slab_bytes(&slab) <= bytes_for(MANY) + 4 * HEAD);
	}
	unpin();
	for (int i = 0; i < MANY; i++)
		cf_slab_free(&slab, objects[i]);
	end_empty();
}

TEST("constructed once, and a free object stays as it was left")
{
	for (unsigned flags = 0; flags <= CF_SLAB_TYPE_STABLE; flags++) {
		unsigned char *object;
		begin((struct cf_slab_options){ .size = 16, .constructor = construct, .flags = flags });
		object = cf_slab_alloc(&slab);
		CHECK(object[0] == 0x5a && object[15] == 0x5a);
		object[0] = 1;
		cf_slab_free(&slab, object);
		CHECK(object[0] == 1 && object[15] == 0x5a); // readers under RCU may look
		CHECK(cf_slab_alloc(&slab) == object && object[0] == 1);
		cf_slab_free(&slab, object);
		end_empty();
	}
	begin((struct cf_slab_options){ .size = 16, .flags = CF_SLAB_TYPE_STABLE });
	CHECK_EQUAL(slab.stride, 24);
	end_empty();
}

// ---- a limit

static int64_t charged, most;
static void *unmapped_before; // a page that is to be gone when bytes come back

static int charge(void *limit, int64_t bytes)
{
	unsigned char resident;
	if (bytes < 0 && unmapped_before)
		CHECK(mincore(unmapped_before, 1, &resident) && errno == ENOMEM);
	if (bytes > 0 && charged + bytes > *(int64_t *)limit)
		return -ENOMEM;
	charged += bytes;
	most = charged > most ? charged : most;
	return 0;
}

TEST("a limit holds, and counts what is cached for others as free")
{
	enum { MANY = 3000 };
	static void *objects[MANY];
	int64_t limit = 200000;
	int count = 0, again = 0;
	charged = most = 0;
	begin((struct cf_slab_options){ .size = 256, .charge = charge, .context = &limit });
	for (; count < MANY && (objects[count] = cf_slab_alloc(&slab)) != NULL; count++)
		;
	CHECK(count > 500 && count < 800);
	CHECK_EQUAL(charged, (int64_t)cf_slab_bytes(&slab));
	CHECK_EQUAL(cf_slab_alloc(&slab), NULL);
	for (int i = 0; i < count; i++) { // freed on one CPU, or the other
		pin(i / 100 & 1);
		cf_slab_free(&slab, objects[i]);
	}
	for (pin(0); again < MANY && (objects[again] = cf_slab_alloc(&slab)) != NULL; again++)
		;
	unpin();
	CHECK_EQUAL(again, count);
	for (int i = 0; i < count; i++)
		cf_slab_free(&slab, objects[i]);
	end_empty();
	CHECK_EQUAL(charged, 0);
	CHECK(most <= limit);
}

TEST("destroy counts what was not freed, and gives all back")
{
	int64_t limit = INT64_MAX;
	charged = 0;
	begin((struct cf_slab_options){ .size = 64, .charge = charge, .context = &limit });
	for (int i = 0; i < 1000; i++)
		unmapped_before = cf_slab_alloc(&slab);
	unmapped_before = (void *)((uintptr_t)unmapped_before & ~(uintptr_t)4095);
	CHECK_EQUAL(cf_slab_destroy(&slab), 1000);
	unmapped_before = NULL;
	CHECK_EQUAL(charged, 0);
}

// ---- many threads

enum { SLOTS = 64, HELD_BY_ONE = 40 };

struct object {
	uint64_t owner; // plain: the allocation orders
	char rest[112];
};

static struct object *exchange[SLOTS];

static void check_and_free(struct object *object)
{
	if (!object)
		return;
	CHECK(object->owner != 0 && object->rest[0] == (char)object->owner);
	object->owner = 0;
	cf_slab_free(&slab, object);
}

// Makes objects, and frees its own and those of others, on other CPUs.
static void make_and_free(int id, void *shared)
{
	struct object *held[HELD_BY_ONE] = { NULL };
	uint64_t random = (uint64_t)id + 1;
	long *rounds = shared;
	for (long i = 0; i < *rounds; i++) {
		struct object **place = &held[random_below(&random, HELD_BY_ONE)], *object;
		if (*place) { // release, acquire: the object's contents change hands
			check_and_free(__atomic_exchange_n(&exchange[random_below(&random, SLOTS)], *place, __ATOMIC_ACQ_REL));
			*place = NULL;
			continue;
		}
		object = cf_slab_alloc(&slab);
		CHECK(object != NULL);
		if (slab.constructor)
			CHECK_EQUAL(object->owner, 0); // nobody else has it
		object->owner = (uint64_t)id + 1;
		object->rest[0] = (char)(id + 1);
		*place = object;
		if (random_below(&random, 5000) == 0)
			cf_slab_shrink(&slab);
	}
	for (int i = 0; i < HELD_BY_ONE; i++)
		check_and_free(held[i]);
}

static void zero(void *object)
{
	memset(object, 0, sizeof(struct object));
}

static void together(struct cf_slab_options options, bool moving)
{
	long rounds = scaled(30000);
	begin(options);
	crew_run(6, moving, make_and_free, &rounds);
	for (int i = 0; i < SLOTS; i++) {
		check_and_free(exchange[i]);
		exchange[i] = NULL;
	}
	CHECK_EQUAL(stats_now().allocations, stats_now().frees);
	end_empty();
}

TEST("a free happens before the next allocation; memory returns to its start")
{
	together((struct cf_slab_options){ .size = sizeof(struct object), .constructor = zero }, false);
	together((struct cf_slab_options){ .size = sizeof(struct object), .constructor = zero, .magazine = 2 }, true);
	together((struct cf_slab_options){ .size = sizeof(struct object), .magazine = 1 }, true);
	together((struct cf_slab_options){ .size = sizeof(struct object), .flags = CF_SLAB_TYPE_STABLE | CF_SLAB_LINES }, true);
}

// One CPU allocates and another frees: full magazines go through the depot.
static void *passed[4000];

TEST("objects that are made on one CPU and freed on another go around in magazines")
{
	uint64_t slabs = 0;
	begin((struct cf_slab_options){ .size = 128 });
	for (int round = 0; round < 20; round++) {
		pin(0);
		for (int i = 0; i < 400; i++)
			passed[i] = cf_slab_alloc(&slab);
		slabs = round == 1 ? stats_now().slabs : slabs;
		pin(1);
		for (int i = 0; i < 400; i++)
			cf_slab_free(&slab, passed[i]);
	}
	unpin();
	CHECK(stats_now().slabs <= slabs + 4);
	CHECK(stats_now().exchanges > 20);
	end_empty();
}

TEST("two magazines: a CPU that allocates and frees as many as they hold needs nothing else")
{
	enum { MAGAZINE = 8 };
	struct cf_slab_stats before = { 0 }, after;
	begin((struct cf_slab_options){ .size = 128, .magazine = MAGAZINE });
	pin(0);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 2 * MAGAZINE; i++)
			passed[i] = cf_slab_alloc(&slab);
		for (int i = 0; i < 2 * MAGAZINE; i++)
			cf_slab_free(&slab, passed[i]);
		before = round == 0 ? stats_now() : before;
	}
	after = stats_now();
	unpin();
	CHECK_EQUAL(after.exchanges, before.exchanges);
	CHECK_EQUAL(after.refills, before.refills);
	end_empty();
}

HARNESS_MAIN
