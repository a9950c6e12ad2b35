// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bodies.h"
#include <corefold/cf_percpu_counter.h>

static const struct cf_percpu_options anywhere = { 0, 1, CF_LOCK_QUEUED };

TEST("the kernel's names do what they do")
{
	struct cf_percpu_counter c;
	memset(&c, 0, sizeof c);
	CHECK(!cf_percpu_counter_initialized(&c));
	CHECK_EQUAL(cf_percpu_counter_init(&c, -10), 0);
	CHECK(cf_percpu_counter_initialized(&c));
	CHECK_EQUAL(c.batch, 2 * cf_cpu_count() > 32 ? 2 * cf_cpu_count() : 32);
	CHECK_EQUAL(cf_percpu_counter_read(&c), -10);
	CHECK_EQUAL(cf_percpu_counter_read_positive(&c), 0);
	CHECK_EQUAL(cf_percpu_counter_sum_positive(&c), 0);
	cf_percpu_counter_inc(&c);
	cf_percpu_counter_inc(&c);
	cf_percpu_counter_dec(&c);
	cf_percpu_counter_sub(&c, 4);
	CHECK_EQUAL(cf_percpu_counter_sum(&c), -13);
	CHECK_EQUAL(cf_percpu_counter_read(&c), -10); // below a batch: the delta stays where it is
	cf_percpu_counter_add_batch(&c, 1, 1);
	CHECK_EQUAL(cf_percpu_counter_sum(&c), -12);
	CHECK_EQUAL(cf_percpu_counter_set(&c, 7), 0);
	CHECK_EQUAL(cf_percpu_counter_read(&c), 7);
	CHECK_EQUAL(cf_percpu_counter_sum(&c), 7);
	cf_percpu_counter_destroy(&c);
	CHECK(!cf_percpu_counter_initialized(&c));
	cf_percpu_counter_destroy(&c);
}

TEST("a batch folds when the delta reaches it")
{
	struct cf_percpu_counter c;
	cpu_set_t set, old;
	sched_getaffinity(0, sizeof old, &old);
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	CHECK_EQUAL(cf_percpu_counter_init(&c, 0), 0);
	cf_percpu_counter_add_batch(&c, 9, 10);
	CHECK_EQUAL(cf_percpu_counter_read(&c), 0);
	cf_percpu_counter_add_batch(&c, 1, 10);
	CHECK_EQUAL(cf_percpu_counter_read(&c), 10);
	cf_percpu_counter_add_batch(&c, -10, 10);
	CHECK_EQUAL(cf_percpu_counter_read(&c), 0);
	sched_setaffinity(0, sizeof old, &old);
	cf_percpu_counter_destroy(&c);
}

TEST("batches near 2^31")
{
	struct cf_percpu_counter c;
	const int32_t batches[] = { INT32_MAX, INT32_MAX - 1, INT32_MIN, -1, 0 };
	const int64_t amounts[] = { INT32_MAX, INT32_MIN, INT32_MAX - 1, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, 1, -1 };
	for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
		int64_t value = 0;
		CHECK_EQUAL(cf_percpu_counter_init(&c, 0), 0);
		for (size_t i = 0; i < 5 * sizeof amounts / sizeof *amounts; i++) {
			int64_t amount = amounts[i % (sizeof amounts / sizeof *amounts)];
			CHECK_EQUAL(cf_percpu_counter_add_batch(&c, amount, batches[b]), 0);
			value += amount;
			CHECK_EQUAL(cf_percpu_counter_sum(&c), value);
			CHECK_EQUAL(cf_percpu_counter_compare_batch(&c, value, batches[b]), 0);
		}
		CHECK_EQUAL(cf_percpu_counter_limited_add(&c, value, -1), -ENOSPC);
		cf_percpu_counter_destroy(&c);
	}
}

TEST("set_limit refuses a count of zero, few CPUs and large counts")
{
	struct cf_percpu_counter c;
	const struct cf_percpu_options as_in_linux = { 0, 0, CF_LOCK_QUEUED };
	CHECK_EQUAL(cf_percpu_counter_init_with(&c, 0, &anywhere), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 10), -EINVAL);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, -1), -EINVAL);
	CHECK_EQUAL(cf_percpu_counter_set(&c, 10 * cf_cpu_count() + 1), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 10), 0);
	CHECK_EQUAL(cf_percpu_counter_set(&c, 10 * cf_cpu_count()), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 10), 1);
	cf_percpu_counter_destroy(&c);
	CHECK_EQUAL(cf_percpu_counter_init_with(&c, 10, &as_in_linux), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 10), cf_cpu_count() > 32);
	cf_percpu_counter_destroy(&c);
}

TEST("percpu_limit 0 is the default batch")
{
	struct cf_percpu_counter c;
	CHECK_EQUAL(cf_percpu_counter_init_with(&c, 1, &anywhere), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 0), 1);
	CHECK_EQUAL(c.limit, (int64_t)c.batch * cf_cpu_count());
	cf_percpu_counter_destroy(&c);
}

TEST("a limited counter is exact until it outgrows its limit, and never global again")
{
	struct cf_percpu_counter c;
	int64_t limit = 100 * (int64_t)cf_cpu_count();
	CHECK_EQUAL(cf_percpu_counter_init_with(&c, limit - 2, &anywhere), 0);
	CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 100), 1);
	cf_percpu_counter_inc(&c);
	CHECK_EQUAL(cf_percpu_counter_read(&c), limit - 1); // one read is exact
	cf_percpu_counter_inc(&c);
	CHECK_EQUAL(cf_percpu_counter_read(&c), limit);
	CHECK(c.global);
	cf_percpu_counter_inc(&c);
	CHECK(!c.global);
	cf_percpu_counter_inc(&c);
	CHECK_EQUAL(cf_percpu_counter_read(&c), limit + 1); // now a delta
	CHECK_EQUAL(cf_percpu_counter_sum(&c), limit + 2);
	for (int i = 0; i < 100; i++)
		cf_percpu_counter_sub(&c, 2);
	CHECK(!c.global);
	CHECK_EQUAL(cf_percpu_counter_sum(&c), limit - 198);
	cf_percpu_counter_destroy(&c);
}

struct reader {
	struct cf_percpu_counter c;
	int64_t steps; // each thread adds 1 this often
	uint32_t done;
};

// Each thread only adds: any sum lies between what had returned and what had begun.
static void add_or_look(int id, void *shared)
{
	struct reader *r = shared;
	int64_t bound = (int64_t)r->c.batch * cf_slot_count(), last = 0;
	if (id) {
		for (int64_t i = 0; i < r->steps; i++)
			cf_percpu_counter_inc(&r->c);
		__atomic_fetch_add(&r->done, 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&r->done, __ATOMIC_ACQUIRE) < 4) {
		int64_t before = cf_percpu_counter_sum(&r->c), read = cf_percpu_counter_read(&r->c);
		int64_t after = cf_percpu_counter_sum(&r->c);
		CHECK(before >= last && after >= before);
		CHECK(read > before - bound && read < after + bound);
		last = after;
	}
}

TEST("read is within its bound")
{
	struct reader r = { .steps = scaled(100000) };
	CHECK_EQUAL(cf_percpu_counter_init(&r.c, 0), 0);
	crew_run(5, true, add_or_look, &r);
	CHECK_EQUAL(cf_percpu_counter_sum(&r.c), 4 * r.steps);
	cf_percpu_counter_destroy(&r.c);
}

static void set_beside_adds(int id, void *shared)
{
	struct cf_percpu_counter *c = shared;
	for (long i = 0; i < scaled(500); i++) {
		if (id == 0)
			CHECK_EQUAL(cf_percpu_counter_set(c, 1 << 20), 0);
		else
			for (int j = 0; j < 20; j++)
				cf_percpu_counter_inc(c);
	}
}

TEST("set beside adds loses none that come after it")
{
	struct cf_percpu_counter c;
	CHECK_EQUAL(cf_percpu_counter_init(&c, 0), 0);
	crew_run(4, true, set_beside_adds, &c);
	int64_t sum = cf_percpu_counter_sum(&c);
	CHECK(sum >= 1 << 20 && sum <= (1 << 20) + 3 * 20 * scaled(500));
	CHECK_EQUAL(cf_percpu_counter_set(&c, 5), 0);
	CHECK_EQUAL(cf_percpu_counter_sum(&c), 5);
	cf_percpu_counter_destroy(&c);
}

// While one reads, others take it past its limit, and use larger and larger batches: for ThreadSanitizer above all.
TEST("a comparison with a smaller batch than the adds' is right")
{
	struct cf_percpu_counter c;
	CHECK_EQUAL(cf_percpu_counter_init(&c, 0), 0);
	for (int32_t batch = 10; batch <= 1000000; batch *= 10) { // the adds stay in slots
		CHECK_EQUAL(cf_percpu_counter_add_batch(&c, batch / 2, batch), 0);
		for (int32_t smaller = 0; smaller <= batch; smaller = smaller ? smaller * 10 : 1) {
			CHECK_EQUAL(cf_percpu_counter_compare_batch(&c, batch / 4, smaller), 1);
			CHECK_EQUAL(cf_percpu_counter_compare_batch(&c, batch, smaller), -1);
		}
		CHECK_EQUAL(cf_percpu_counter_compare(&c, batch / 4), 1);
	}
	cf_percpu_counter_destroy(&c);
}

static void outgrow_or_look(int id, void *shared)
{
	struct cf_percpu_counter *c = shared;
	for (int i = 0; i < 2000; i++)
		if (id)
			CHECK_EQUAL(cf_percpu_counter_add_batch(c, 1, 32 + i / 10), 0);
		else
			CHECK(cf_percpu_counter_compare_batch(c, 0, 32) > 0);
}

TEST("compare and larger batches beside a counter that leaves its limit")
{
	struct cf_percpu_counter c;
	for (int round = 0; round < 5; round++) {
		CHECK_EQUAL(cf_percpu_counter_init_with(&c, 10, &anywhere), 0);
		CHECK_EQUAL(cf_percpu_counter_set_limit(&c, 100), 1);
		crew_run(3, false, outgrow_or_look, &c);
		CHECK(!c.global);
		CHECK_EQUAL(cf_percpu_counter_sum(&c), 4010);
		cf_percpu_counter_destroy(&c);
	}
}

HARNESS_MAIN
