// SPDX-License-Identifier: MIT OR Apache-2.0
// Storms at a limit, on real cores: one thread takes nearly all at once, one takes single units, one takes and gives back.
// What is taken must never exceed what there was, and after each round the sum must be exact.
//   CF_STORM_SECONDS=N   so long for each kind, rather than a moment: `make storm SECONDS=600`
#include "harness.h"
#include <corefold/cf_counter.h>
#include <corefold/cf_space.h>

enum { STORMERS = 3, BATCH = 8, SMALL_TAKES = 300 };

// What is stormed: a counter with a floor (or, upside down, a ceiling), or the free blocks of a file system.
struct storm {
	enum cf_counter_kind kind;
	bool space, up; // up: taking adds, and the limit is a ceiling
	struct cf_counter counter;
	struct cf_space fs;
	int64_t floor, higher, capacity;
	int64_t in_use;           // never more than is really taken
	int64_t kept[STORMERS];
	uint64_t seed;
	uint32_t arrived, phase; // the barrier
	bool over, last; // time is up; and thread 0 has seen it: all stop after the same round
};

static void meet(struct storm *s)
{
	uint32_t phase = __atomic_load_n(&s->phase, __ATOMIC_ACQUIRE);
	if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == STORMERS) {
		__atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&s->phase, phase + 1, __ATOMIC_RELEASE);
		return;
	}
	for (int looks = 0; __atomic_load_n(&s->phase, __ATOMIC_ACQUIRE) == phase; looks++)
		if (looks > 200)
			sched_yield();
		else
			cf_pause();
}

static int64_t value(struct storm *s)
{
	struct cf_space_usage usage;
	if (!s->space)
		return s->up ? -cf_counter_sum(&s->counter) : cf_counter_sum(&s->counter);
	cf_space_usage(&s->fs, &usage);
	return usage.free_blocks;
}

static bool take_above(struct storm *s, int64_t floor, int64_t n)
{
	int result = s->space ? cf_space_take_blocks(&s->fs, n, floor == s->floor ? CF_SPACE_PRIVILEGED : 0) :
		     s->up    ? cf_counter_limited_add(&s->counter, -floor, n) :
				cf_counter_limited_add(&s->counter, floor, -n);
	CHECK(result == 0 || result == -ENOSPC);
	if (result)
		return false;
	CHECK(__atomic_add_fetch(&s->in_use, n, __ATOMIC_SEQ_CST) <= s->capacity);
	return true;
}

static void give(struct storm *s, int64_t n)
{
	__atomic_fetch_sub(&s->in_use, n, __ATOMIC_SEQ_CST);
	CHECK_EQUAL(s->space ? cf_space_return_blocks(&s->fs, n) : cf_counter_add(&s->counter, s->up ? -n : n), 0);
}

static int64_t take_nearly_all(struct storm *s, uint64_t *random)
{
	int64_t n = s->capacity - 1 - random_below(random, 200);
	for (uint32_t wait = random_below(random, 400); wait; wait--)
		cf_pause();
	return n > 0 && take_above(s, s->floor, n) ? n : 0;
}

static int64_t take_singly(struct storm *s)
{
	int64_t taken = 0;
	for (int i = 0; i < SMALL_TAKES; i++)
		taken += take_above(s, s->floor, 1);
	return taken;
}

// At times above a higher floor, which others may go below.
static int64_t take_and_give(struct storm *s, uint64_t *random)
{
	int64_t held = 0;
	for (int i = 0; i < 40; i++) {
		int64_t n = 1 + random_below(random, 5);
		if (held < n || random_below(random, 2)) {
			held += take_above(s, random_below(random, 2) ? s->floor : s->higher, n) ? n : 0;
		} else {
			give(s, n);
			held -= n;
		}
	}
	return held;
}

// By one thread, while the others wait: all is exact; then as much as the next round is to begin with.
static void check_and_fill(struct storm *s, uint64_t *random)
{
	int64_t left = s->floor + s->capacity;
	for (int i = 0; i < STORMERS; i++)
		left -= s->kept[i];
	CHECK_EQUAL(value(s), left);
	CHECK(left >= s->floor);
	for (int i = 0; i < STORMERS; i++) {
		give(s, s->kept[i]);
		s->kept[i] = 0;
	}
	CHECK_EQUAL(s->in_use, 0);
	if (!s->space) { // about where quotas come and go
		int64_t capacity = 1 + BATCH * (int64_t)cf_slot_count() * (1 + random_below(random, 6)) + random_below(random, 64);
		CHECK_EQUAL(cf_counter_add(&s->counter, s->up ? s->capacity - capacity : capacity - s->capacity), 0);
		s->capacity = capacity;
	}
	for (int i = 0; i < 2 * BATCH; i++) // what was far from the limit is again
		if (take_above(s, s->floor, 1))
			give(s, 1);
}

static void stormer(int id, void *shared)
{
	struct storm *s = shared;
	uint64_t random = s->seed + (uint64_t)id;
	if (id < 2)
		pin(id);
	for (;;) {
		if (id == 0)
			check_and_fill(s, &random);
		if (id == 0)
			s->last = __atomic_load_n(&s->over, __ATOMIC_RELAXED);
		meet(s);
		if (s->last)
			break;
		s->kept[id] = id == 0 ? take_nearly_all(s, &random) : id == 1 ? take_singly(s) : take_and_give(s, &random);
		meet(s);
	}
}

static void *clock_main(void *shared)
{
	struct storm *s = shared;
	const char *seconds = getenv("CF_STORM_SECONDS");
	double end = now_seconds() + (seconds ? atof(seconds) : 0.1);
	while (now_seconds() < end && !__atomic_load_n(&failures, __ATOMIC_RELAXED))
		usleep(1000);
	__atomic_store_n(&s->over, true, __ATOMIC_RELAXED);
	return NULL;
}

static void run(struct storm *s)
{
	pthread_t timer;
	pthread_create(&timer, NULL, clock_main, s);
	crew_run(STORMERS, false, stormer, s);
	pthread_join(timer, NULL);
	printf("       %s%s%s: %u rounds\n", cf_counter_kind_name(s->kind), s->space ? ", space" : "", s->up ? ", ceiling" : "",
	       s->phase / 2);
}

static void storm_counter(int kind, bool up)
{
	static struct storm s;
	const struct cf_counter_options options = { .batch = BATCH, .cap_max = 32, .percpu_limit = 4, .many_cpus = 1 };
	memset(&s, 0, sizeof s);
	s.kind = (enum cf_counter_kind)kind;
	s.up = up;
	s.floor = -3;
	s.higher = 40;
	s.capacity = 300;
	CHECK_EQUAL(cf_counter_init(&s.counter, s.kind, up ? -(s.floor + s.capacity) : s.floor + s.capacity, &options), 0);
	run(&s);
	cf_counter_destroy(&s.counter);
}

TEST("storm: no counter oversells")
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++)
		storm_counter(kind, false);
}

TEST("storm: none passes a ceiling")
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++)
		storm_counter(kind, true);
}

TEST("storm: no space is sold twice")
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		static struct storm s;
		struct cf_space_options options = { .kind = (enum cf_counter_kind)kind, .inodes = 10, .reserve = 20 };
		memset(&s, 0, sizeof s);
		options.block_counter = (struct cf_counter_options){ .batch = BATCH, .cap_max = 32, .percpu_limit = 4, .many_cpus = 1 };
		s.kind = options.kind;
		s.space = true;
		s.capacity = options.blocks = 4 * BATCH * (int64_t)cf_slot_count() + 10;
		s.higher = 20;
		CHECK_EQUAL(cf_space_init(&s.fs, &options), 0);
		run(&s);
		cf_space_destroy(&s.fs);
	}
}

HARNESS_MAIN
