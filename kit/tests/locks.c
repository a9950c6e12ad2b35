// SPDX-License-Identifier: MIT OR Apache-2.0
// Every lock of the kit natively, by one body for all (lock_bodies.h); and what each promises beyond it.
#include "harness.h"
#include <limits.h>
#define WRONG(text) CHECK(!text)
#include "lock_bodies.h"

static struct guarded guarded;

static void mix_thread(int id, void *reads)
{
	mix(&guarded, (uint64_t)id * 0x9e3779b97f4a7c15u + 1, *(uint32_t *)reads);
}

static void queue_thread(int id, void *unused)
{
	(void)id, (void)unused;
	queue_up(&guarded);
}

// So many nanoseconds for each crew.
static void begin_crew(const struct lock_kind *kind, long section)
{
	CHECK_EQUAL(guarded_begin(&guarded, kind, LONG_MAX, section), 0);
	guarded.until = soon(scaled(400000000) / (CF_BUILT_SANITISED ? 1 : 10));
}

// More threads than CPUs; some of the time they are moved from CPU to CPU; sections short, and long enough for sleep.
static void validate(const char *name)
{
	const struct lock_kind *kind = lock_kind_of(name);
	for (int round = 0; round < 4; round++) {
		uint32_t reads = (uint32_t)round * 5;
		begin_crew(kind, round * round * 100);
		crew_run(2 + 2 * round, round & 1, mix_thread, &reads);
		guarded_end(&guarded);
	}
	begin_crew(kind, 10);
	crew_run(8, false, queue_thread, NULL);
	guarded_end(&guarded);
	if (getenv("CF_TEST_VERBOSE"))
		printf("       %s: %ld sections, at most %ld passed\n", name, guarded.written, guarded.most_passed);
}

#define LOCK_TEST(name)                                                                                                \
	TEST(name ": one writer or readers at a time, nothing lost")                                                   \
	{                                                                                                              \
		validate(name);                                                                                        \
	}
LOCK_TEST("queued")
LOCK_TEST("ticket")
LOCK_TEST("mcs")
LOCK_TEST("qspin")
LOCK_TEST("osq")
LOCK_TEST("mutex")
LOCK_TEST("rwsem")
LOCK_TEST("brlock")
LOCK_TEST("seqlock")

static void relay_thread(int id, void *unused)
{
	(void)unused;
	relay(&guarded, id);
}

TEST("every lock: what one holder did happens before what the next does, in turn, without contention")
{
	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		CHECK_EQUAL(guarded_begin(&guarded, &lock_kinds[kind], 0, 0), 0);
		crew_run(2, false, relay_thread, NULL);
		guarded.written = guarded.first;
		guarded.turns = guarded.first;
		guarded_end(&guarded);
	}
}

// ---- without contention

static union any_lock lock;
static union held held, other;

static void begin(const char *name)
{
	CHECK_EQUAL(lock_kind_of(name)->init(&lock), 0);
}

// What is not locked can be tried, what is locked cannot.
static void tries(const char *name)
{
	const struct lock_kind *kind = lock_kind_of(name);
	begin(name);
	for (int i = 0; i < 3; i++) {
		CHECK_EQUAL(kind->try_lock(&lock, &held), 0);
		CHECK(kind->try_lock(&lock, &other) < 0);
		kind->unlock(&lock, &held);
	}
}

TEST("try: free and held")
{
	tries("mcs");
	tries("qspin");
	tries("mutex");
	tries("rwsem");
}

TEST("mutex: its holder is told, not stuck")
{
	struct timespec late = soon(1000000000), past = { 0, 0 };
	begin("mutex");
	CHECK(!cf_mutex_is_locked(&lock.mutex));
	CHECK_EQUAL(cf_mutex_lock(&lock.mutex), 0);
	CHECK(cf_mutex_is_locked(&lock.mutex));
	CHECK_EQUAL(cf_mutex_lock(&lock.mutex), -EDEADLK);
	CHECK_EQUAL(cf_mutex_timedlock(&lock.mutex, &late), -EDEADLK);
	cf_mutex_unlock(&lock.mutex);
	CHECK_EQUAL(cf_mutex_timedlock(&lock.mutex, &past), 0); // free: no deadline counts
	cf_mutex_unlock(&lock.mutex);
}

TEST("rwsem: readers together, writers alone, downgrade")
{
	struct cf_rwsem *s = &lock.rwsem;
	begin("rwsem");
	CHECK_EQUAL(cf_rwsem_read_lock(s), 0);
	CHECK_EQUAL(cf_rwsem_read_trylock(s), 0);
	CHECK_EQUAL(cf_rwsem_write_trylock(s), -EBUSY);
	cf_rwsem_read_unlock(s);
	cf_rwsem_read_unlock(s);
	CHECK_EQUAL(cf_rwsem_write_lock(s), 0);
	CHECK_EQUAL(cf_rwsem_read_trylock(s), -EBUSY);
	CHECK_EQUAL(cf_rwsem_write_lock(s), -EDEADLK);
	CHECK_EQUAL(cf_rwsem_read_lock(s), -EDEADLK);
	cf_rwsem_downgrade(s);
	CHECK_EQUAL(cf_rwsem_read_trylock(s), 0);
	CHECK_EQUAL(cf_rwsem_write_trylock(s), -EBUSY);
	cf_rwsem_read_unlock(s);
	cf_rwsem_read_unlock(s);
	CHECK(!cf_rwsem_is_locked(s));
	CHECK_EQUAL(s->count, 0);
}

TEST("seqlock: a reader starts again after a writer, and only then")
{
	struct cf_seqlock *s = &lock.seqlock;
	uint32_t count;
	begin("seqlock");
	count = cf_seqlock_read_begin(s);
	CHECK(!cf_seqlock_read_retry(s, count));
	cf_seqlock_write_lock(s);
	CHECK(cf_seqlock_read_retry(s, count));
	CHECK(cf_seqcount_peek(&s->count) & 1);
	cf_seqlock_write_unlock(s);
	CHECK(cf_seqlock_read_retry(s, count));
	count = cf_seqlock_read_begin(s);
	CHECK(!cf_seqlock_read_retry(s, count));
	cf_seqcount_invalidate(&s->count);
	CHECK(cf_seqlock_read_retry(s, count));
	CHECK(!(cf_seqcount_peek(&s->count) & 1));
}

// ---- deadlines

struct timed {
	const char *name;
	bool reader, readers_inside;
	const struct timespec *deadline; // null: soon
	int result;
	double waited;
};

static void wait_timed(int id, void *argument)
{
	struct timed *t = argument;
	const struct lock_kind *kind = lock_kind_of(t->name);
	struct timespec deadline = soon(20000000);
	double begun = now_seconds();
	union held mine;
	(void)id;
	t->result = (t->reader ? kind->read : kind->lock)(&lock, &mine, t->deadline ? t->deadline : &deadline);
	t->waited = now_seconds() - begun;
}

// A deadline passes while another holds it; afterwards the lock is as new.
static void times_out(const char *name, bool reader, bool readers_inside)
{
	struct timed t = { .name = name, .reader = reader, .readers_inside = readers_inside };
	const struct lock_kind *kind = lock_kind_of(name);
	begin(name);
	CHECK_EQUAL(readers_inside ? kind->read(&lock, &held, NULL) : kind->lock(&lock, &held, NULL), 0);
	crew_run(1, false, wait_timed, &t);
	CHECK_EQUAL(t.result, -ETIMEDOUT);
	CHECK(t.waited >= 0.02);
	readers_inside ? kind->read_unlock(&lock, &held) : kind->unlock(&lock, &held);
	if (!strcmp(name, "rwsem"))
		CHECK_EQUAL(lock.rwsem.count, 0);
	else
		CHECK_EQUAL(lock.mutex.owner, 0);
	CHECK_EQUAL(kind->try_lock(&lock, &held), 0);
	kind->unlock(&lock, &held);
}

TEST("mutex: a deadline passes")
{
	times_out("mutex", false, false);
}

TEST("rwsem: a deadline passes")
{
	times_out("rwsem", false, false);
	times_out("rwsem", false, true);
	times_out("rwsem", true, false);
}

static void waits_for_no_time(const char *name, bool reader)
{
	const struct timespec none[] = { { -1, 0 }, { 0, 2000000000 }, { 0, -1 }, { INT32_MAX, 1000000000 } };
	const struct lock_kind *kind = lock_kind_of(name);
	begin(name);
	CHECK_EQUAL(kind->lock(&lock, &held, NULL), 0);
	alarm(20); // or it waits for the unlock
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct timed t = { .name = name, .reader = reader, .deadline = &none[i] };
		crew_run(1, false, wait_timed, &t);
		CHECK_EQUAL(t.result, -ETIMEDOUT);
	}
	alarm(0);
	kind->unlock(&lock, &held);
}

TEST("mutex, rwsem: a deadline that is no time has passed")
{
	waits_for_no_time("mutex", false);
	waits_for_no_time("rwsem", false);
	waits_for_no_time("rwsem", true);
}

// ---- layouts that others count on

TEST("rwsem: the kernel's layout")
{
	CHECK_EQUAL(sizeof(struct cf_rwsem), 40);
	CHECK_EQUAL(offsetof(struct cf_rwsem, owner), 32);
}

TEST("qspin: more threads in line than a block of nodes, again and again")
{
	for (int i = 0; i < 4; i++) { // the nodes of threads that ended are used again
		CHECK_EQUAL(guarded_begin(&guarded, lock_kind_of("qspin"), scaled(80) + 1, 100), 0);
		crew_run(100, false, queue_thread, NULL);
		guarded_end(&guarded);
	}
}

HARNESS_MAIN
