// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bodies.h"
#include <corefold/cf_adaptive_counter.h>

static int add(void *c, int64_t amount)
{
	return cf_adaptive_counter_add(c, amount);
}

static int limited_add(void *c, int64_t limit, int64_t amount)
{
	return cf_adaptive_counter_limited_add(c, limit, amount);
}

static int64_t sum(void *c)
{
	return cf_adaptive_counter_sum(c);
}

static int compare(void *c, int64_t rhs)
{
	return cf_adaptive_counter_compare(c, rhs);
}

static const struct subject subject = { "adaptive", add, limited_add, sum, compare };

static struct cf_adaptive_counter c;

static void begin(int64_t value, int32_t credit_max)
{
	CHECK_EQUAL(cf_adaptive_counter_init(&c, value, credit_max), 0);
}

static void end(void)
{
	cf_adaptive_counter_destroy(&c);
}

// Until this CPU has credit.
static void warm_up(void)
{
	for (int i = 0; i < 1000 && cf_adaptive_counter_holders(&c) == 0; i++) {
		cf_adaptive_counter_inc(&c);
		cf_adaptive_counter_dec(&c);
	}
}

TEST("it begins global, and a busy CPU gets credit of its own")
{
	begin(1000000, 0);
	CHECK_EQUAL(cf_adaptive_counter_holders(&c), 0);
	CHECK_EQUAL(cf_adaptive_counter_inc(&c), 0);
	CHECK_EQUAL(cf_adaptive_counter_read(&c), 1000001);
	warm_up();
	CHECK(cf_adaptive_counter_holders(&c) > 0);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 1000001);
	end();
}

TEST("sums are exact")
{
	const int32_t maxima[] = { 8, 20, 1024, INT32_MAX };
	for (size_t i = 0; i < sizeof maxima / sizeof *maxima; i++) {
		begin(-5, maxima[i]);
		sums_are_exact(&subject, &c, -5, 6, true);
		end();
	}
}

TEST("threads come and go")
{
	begin(0, 16);
	threads_come_and_go(&subject, &c, 0);
	end();
}

TEST("no oversell, no false refusal")
{
	// So much that slots have credit, then so little that they must give it up.
	const int64_t capacities[] = { 5, 100, 1000, 20000 };
	for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
		begin(capacities[i], 0);
		if (capacities[i] < 1000)
			no_oversell(&subject, &c, 0, capacities[i], 8);
		drains_to_the_last(&subject, &c, 0, capacities[i], 10);
		end();
	}
	begin(7 + 5, 0);
	no_false_refusal(&subject, &c, 7, 6);
	end();
}

TEST("two limits: the lower one may go below the higher one's guard")
{
	int64_t taken = 0;
	begin(100000, 0);
	for (int i = 0; i < 2000; i++) // the guard rises to 50,000, and slots have credit
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 50000, -1), 0);
	CHECK(cf_adaptive_counter_holders(&c) > 0);
	while (cf_adaptive_counter_limited_add(&c, 50000, -7) == 0)
		taken += 7;
	CHECK(taken > 48000 - 7 && taken <= 48000);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -20000), 0);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 50000, -1), -ENOSPC);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 98000 - taken - 20000);
	end();
}

TEST("an add below the guard calls the credit back before it returns")
{
	begin(100000, 0);
	for (int i = 0; i < 2000; i++)
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), 0);
	CHECK(cf_adaptive_counter_holders(&c) > 0);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, -98000), 0);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, -5), 0);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), -5);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
	end();
}

TEST("an add on a CPU without credit calls the credit back, too")
{
	begin(100000, 0);
	if (!pin(0) || !pin(1)) {
		printf("       one CPU: nothing to see\n");
		end();
		return;
	}
	pin(0);
	for (int i = 0; i < 2000; i++)
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), 0);
	CHECK_EQUAL(cf_adaptive_counter_holders(&c), 1);
	pin(1);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, -98000), 0);
	pin(0);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 0);
	unpin();
	end();
}

// Both CPUs hold credit, which may serve limits up to the guard.
static bool two_holders(int64_t guard)
{
	begin(100000, 0);
	for (int cpu = 0; cpu < 2; cpu++) {
		if (!pin(cpu)) {
			printf("       one CPU: nothing to see\n");
			end();
			return false;
		}
		for (int i = 0; i < 500; i++)
			CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, guard, -1), 0);
	}
	CHECK_EQUAL(cf_adaptive_counter_holders(&c), 2);
	return true;
}

TEST("an add on one of two CPUs with credit calls the credit back, too")
{
	if (!two_holders(0))
		return;
	pin(0);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, -99000), 0);
	pin(1);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 0);
	unpin();
	end();
}

TEST("a limited_add with a lower limit calls the credit back, too")
{
	if (!two_holders(50000))
		return;
	pin(0);
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -60000), 0);
	for (int cpu = 0; cpu < 2; cpu++) {
		pin(cpu);
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 50000, -1), -ENOSPC);
	}
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 39000);
	unpin();
	end();
}

TEST("credit serves no limit above the guard")
{
	const int64_t amounts[] = { 1, 1000, 5000 }; // from the credit, more than it, more than it can be
	for (size_t i = 0; i < sizeof amounts / sizeof *amounts && two_holders(0); i++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			pin(cpu);
			CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 99001 - amounts[i], -amounts[i]), -ENOSPC);
		}
		unpin();
		end();
	}
}

TEST("compare is exact near its limit")
{
	for (int64_t distance = 0; distance < 3000; distance = distance * 2 + 1) {
		begin(5000, 0);
		warm_up();
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, 5000 - distance), distance > 0);
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, 5000 + distance), -(distance > 0));
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, 5000), 0);
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, 5001), -1);
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, 4999), 1);
		end();
	}
}

TEST("near a limit that limited_add meets it turns global, away from it per-CPU again, any number of times")
{
	begin(1000000, 0);
	for (int round = 0; round < 10; round++) {
		int64_t value;
		for (int i = 0; i < 1000; i++)
			CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), 0);
		CHECK(cf_adaptive_counter_holders(&c) > 0);
		value = cf_adaptive_counter_sum(&c);
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -value), 0);
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
		CHECK_EQUAL(cf_adaptive_counter_holders(&c), 0);
		CHECK_EQUAL(c.word & 1, 0); // nothing is lent, and one load is exact
		for (int i = 0; i < 1000; i++) { // too near: stays global and exact
			CHECK_EQUAL(cf_adaptive_counter_add(&c, 1), 0);
			CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), 0);
			CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), -ENOSPC);
		}
		CHECK_EQUAL(cf_adaptive_counter_holders(&c), 0);
		CHECK_EQUAL(cf_adaptive_counter_add(&c, 1000000), 0);
	}
	end();
}

// The distance that the count and all that may be lent leave open.
static int64_t width(void)
{
	int64_t low, high;
	cf_adaptive_counter_bounds(&c, &low, &high);
	return high - low;
}

TEST("comparisons that had to sum make maxima smaller, until they need not")
{
	int64_t rhs = 5000 - 100 * (int64_t)cf_cpu_count();
	begin(5000, 0);
	warm_up();
	CHECK(width() >= 1000);
	for (int i = 0; i < 1000; i++) {
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, rhs), 1);
		cf_adaptive_counter_add(&c, i & 1 ? -1 : 1);
	}
	CHECK(width() <= 100 * (int64_t)cf_cpu_count());
	end();
}

TEST("a limit that nobody compares with any more is forgotten")
{
	int64_t rhs = 5000 - 100 * (int64_t)cf_cpu_count();
	begin(5000, 0);
	warm_up();
	for (int i = 0; i < 1000; i++) {
		CHECK_EQUAL(cf_adaptive_counter_compare(&c, rhs), 1);
		cf_adaptive_counter_add(&c, i & 1 ? -1 : 1);
	}
	for (int i = 0; i < 200000; i++)
		cf_adaptive_counter_add(&c, i / 500 & 1 ? -1 : 1);
	CHECK(width() > 100 * (int64_t)cf_cpu_count());
	end();
}

TEST("maxima shrink on the way to a limit, and grow on the way from it")
{
	int64_t low, high, wide;
	begin(1000000, 0);
	pin(0); // a CPU that it left would keep its maximum: idle CPUs are not asked
	for (int i = 0; i < 5000; i++)
		CHECK_EQUAL(cf_adaptive_counter_limited_add(&c, 0, -1), 0);
	cf_adaptive_counter_bounds(&c, &low, &high);
	wide = high - low;
	CHECK(wide >= 1024);
	while (cf_adaptive_counter_limited_add(&c, 0, -1) == 0) {
		cf_adaptive_counter_bounds(&c, &low, &high);
		CHECK(high - low <= wide);
		if (low < 100)
			CHECK(high - low < 100);
	}
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 0);
	CHECK_EQUAL(cf_adaptive_counter_holders(&c), 0);
	for (int i = 0; i < 100000; i++)
		CHECK_EQUAL(cf_adaptive_counter_add(&c, 1), 0);
	cf_adaptive_counter_bounds(&c, &low, &high);
	CHECK(high - low >= 512);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), 100000);
	unpin();
	end();
}

TEST("idle CPUs fold back")
{
	begin(1000000, 0);
	warm_up();
	CHECK(cf_adaptive_counter_holders(&c) > 0);
	(void)cf_adaptive_counter_settle(&c); // looks
	(void)cf_adaptive_counter_settle(&c); // and folds those that stood still
	CHECK_EQUAL(cf_adaptive_counter_holders(&c), 0);
	CHECK_EQUAL(cf_adaptive_counter_read(&c), 1000000);
	end();
}

struct looker {
	int64_t steps;
	uint32_t done;
};

static void add_or_look(int id, void *shared)
{
	struct looker *l = shared;
	int64_t last = 0;
	if (id) {
		for (int64_t i = 0; i < l->steps; i++)
			cf_adaptive_counter_inc(&c);
		__atomic_fetch_add(&l->done, 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&l->done, __ATOMIC_ACQUIRE) < 4) {
		int64_t before = cf_adaptive_counter_sum(&c), low, high, after;
		cf_adaptive_counter_bounds(&c, &low, &high);
		after = cf_adaptive_counter_sum(&c);
		CHECK(before >= last && after >= before);
		CHECK(low <= after && high >= before);
		CHECK(cf_adaptive_counter_compare(&c, before - 1) > 0);
		CHECK(cf_adaptive_counter_compare(&c, 4 * l->steps + 1) < 0);
		CHECK(cf_adaptive_counter_compare(&c, before) >= 0);
		last = after;
	}
}

TEST("bounds hold")
{
	const int32_t maxima[] = { 8, 64, 1024 };
	for (size_t i = 0; i < sizeof maxima / sizeof *maxima; i++) {
		struct looker l = { .steps = scaled(25000) };
		begin(0, maxima[i]);
		crew_run(5, true, add_or_look, &l);
		CHECK_EQUAL(cf_adaptive_counter_sum(&c), 4 * l.steps);
		end();
	}
}

static void add_or_call_back(int id, void *shared)
{
	long n = *(long *)shared;
	for (long i = 0; i < n; i++) {
		if (id > 0)
			cf_adaptive_counter_inc(&c);
		else if (i % 64 == 0) // below every value: credit is called back, and lent again
			(void)cf_adaptive_counter_limited_add(&c, cf_adaptive_counter_read(&c), -1);
		else if (i % 64 == 32)
			(void)cf_adaptive_counter_settle(&c);
	}
}

TEST("no update is lost")
{
	long n = scaled(100000);
	int64_t start = 1 << 20, taken;
	begin(start, 0);
	crew_run(5, true, add_or_call_back, &n);
	taken = start + 4 * n - cf_adaptive_counter_sum(&c);
	CHECK(taken >= 0 && taken <= (n + 63) / 64);
	end();
}

TEST("near the ends")
{
	begin(CF_VALUE_MAX, INT32_MAX);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, 1), -ERANGE);
	CHECK_EQUAL(cf_adaptive_counter_add(&c, INT64_MAX), -ERANGE);
	CHECK_EQUAL(cf_adaptive_counter_sub(&c, INT64_MIN), -ERANGE);
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), CF_VALUE_MAX);
	CHECK_EQUAL(cf_adaptive_counter_set(&c, CF_VALUE_MAX + 1), -ERANGE);
	CHECK_EQUAL(cf_adaptive_counter_set(&c, 0), 0);
	warm_up();
	for (int i = 0; i < 100; i++) { // credits near 2^31
		CHECK_EQUAL(cf_adaptive_counter_add(&c, INT32_MAX), 0);
		CHECK_EQUAL(cf_adaptive_counter_add(&c, INT32_MIN), 0);
	}
	CHECK_EQUAL(cf_adaptive_counter_sum(&c), -100);
	end();
	CHECK_EQUAL(cf_adaptive_counter_init(&c, CF_VALUE_MAX + 1, 0), -EINVAL);
	CHECK_EQUAL(cf_adaptive_counter_init(&c, 0, -1), -EINVAL);
	CHECK_EQUAL(cf_adaptive_counter_init(NULL, 0, 0), -EINVAL);
}

HARNESS_MAIN
