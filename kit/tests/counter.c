// SPDX-License-Identifier: MIT OR Apache-2.0
// Every kind of counter, one body each.
#include "bodies.h"
#include <corefold/cf_counter.h>

static int add(void *c, int64_t amount)
{
	return cf_counter_add(c, amount);
}

static int limited_add(void *c, int64_t limit, int64_t amount)
{
	return cf_counter_limited_add(c, limit, amount);
}

static int64_t sum(void *c)
{
	return cf_counter_sum(c);
}

static int compare(void *c, int64_t rhs)
{
	return cf_counter_compare(c, rhs);
}

static const struct subject subject = { "counter", add, limited_add, sum, compare };
// Small batches, so that the rare paths are common; and the limit kind for any number of CPUs.
static const struct cf_counter_options small = { 4, 16, 8, 1, CF_LOCK_QUEUED };

static void each_kind(void (*test)(struct cf_counter *), int64_t value)
{
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		struct cf_counter c;
		CHECK_EQUAL(cf_counter_init(&c, (enum cf_counter_kind)kind, value, &small), 0);
		test(&c);
		cf_counter_destroy(&c);
		if (failures) {
			fprintf(stderr, "  kind: %s\n", cf_counter_kind_name((enum cf_counter_kind)kind));
			return;
		}
	}
}

static void exact(struct cf_counter *c)
{
	sums_are_exact(&subject, c, 100, 6, true);
}

TEST("sums are exact, for every kind")
{
	each_kind(exact, 100);
}

static void coming_and_going(struct cf_counter *c)
{
	threads_come_and_go(&subject, c, 100);
}

TEST("threads come and go, for every kind")
{
	each_kind(coming_and_going, 100);
}

static void oversell(struct cf_counter *c)
{
	no_oversell(&subject, c, 0, 10, 8);
}

TEST("no oversell, for every kind")
{
	each_kind(oversell, 10);
}

static void oversell_more(struct cf_counter *c)
{
	no_oversell(&subject, c, 50, 300, 8);
}

TEST("no oversell above a floor, for every kind")
{
	each_kind(oversell_more, 350);
}

static void refusal(struct cf_counter *c)
{
	no_false_refusal(&subject, c, 7, 6);
}

TEST("no false refusal, for every kind")
{
	each_kind(refusal, 7 + 6 - 1);
}

static void to_the_last(struct cf_counter *c)
{
	drains_to_the_last(&subject, c, 5, 4000, 3);
}

TEST("drains to the last, for every kind")
{
	each_kind(to_the_last, 4005);
}

static void ceiling(struct cf_counter *c)
{
	int64_t value = cf_counter_sum(c);
	CHECK_EQUAL(cf_counter_limited_add(c, 1000, 1000 - value), 0);
	CHECK_EQUAL(cf_counter_limited_add(c, 1000, 1), -ENOSPC);
	CHECK_EQUAL(cf_counter_limited_add(c, 1001, 1), 0);
	CHECK_EQUAL(cf_counter_limited_add(c, 0, 0), 0);
	CHECK_EQUAL(cf_counter_limited_add(c, INT64_MAX, 1), 0);
	CHECK_EQUAL(cf_counter_limited_add(c, INT64_MIN, -1), 0);
	CHECK_EQUAL(cf_counter_limited_add(c, INT64_MIN, 1), -ENOSPC);
	CHECK_EQUAL(cf_counter_limited_add(c, INT64_MAX, -1), -ENOSPC);
	CHECK_EQUAL(cf_counter_sum(c), 1001);
}

TEST("a limit may be a ceiling, for every kind")
{
	each_kind(ceiling, 0);
	each_kind(ceiling, 500);
}

static struct cf_counter announced;
static long announcement; // plain: ThreadSanitizer looks on

static void announce(int id, void *shared)
{
	int way = *(int *)shared;
	if (id == 0) {
		announcement = 5;
		CHECK_EQUAL(way ? cf_counter_limited_add(&announced, 0, -1) : cf_counter_add(&announced, 1), 0);
		return;
	}
	while (id == 1 ? cf_counter_compare(&announced, 3) == 0 : cf_counter_read(&announced) == 3)
		sched_yield();
	CHECK_EQUAL(announcement, 5);
}

TEST("who sees one word change, sees what came before the change")
{
	const enum cf_counter_kind kinds[] = { CF_COUNTER_GLOBAL, CF_COUNTER_ADAPTIVE };
	for (int i = 0; i < 4; i++) {
		int way = i / 2;
		CHECK_EQUAL(cf_counter_init(&announced, kinds[i % 2], 3, &small), 0);
		crew_run(3, false, announce, &way);
		cf_counter_destroy(&announced);
	}
}

static void ends(struct cf_counter *c)
{
	const int64_t refused[] = { INT64_MIN, INT64_MAX, CF_VALUE_MAX + 1, -CF_VALUE_MAX - 1 };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		CHECK_EQUAL(cf_counter_add(c, refused[i]), -ERANGE);
		CHECK(cf_counter_limited_add(c, 0, refused[i]) < 0);
		CHECK_EQUAL(cf_counter_sum(c), 3);
	}
	CHECK_EQUAL(cf_counter_add(c, CF_VALUE_MAX - 3), 0);
	CHECK_EQUAL(cf_counter_sum(c), CF_VALUE_MAX);
	CHECK_EQUAL(cf_counter_add(c, (int64_t)1 << 40), -ERANGE);
	CHECK_EQUAL(cf_counter_sum(c), CF_VALUE_MAX);
	CHECK_EQUAL(cf_counter_compare(c, CF_VALUE_MAX), 0);
	CHECK_EQUAL(cf_counter_compare(c, INT64_MAX), -1);
	CHECK_EQUAL(cf_counter_compare(c, INT64_MIN), 1);
	CHECK_EQUAL(cf_counter_add(c, -CF_VALUE_MAX), 0);
	CHECK_EQUAL(cf_counter_add(c, -CF_VALUE_MAX), 0);
	CHECK_EQUAL(cf_counter_sum(c), -CF_VALUE_MAX);
	CHECK_EQUAL(cf_counter_add(c, -((int64_t)1 << 40)), -ERANGE);
	CHECK_EQUAL(cf_counter_add(c, INT64_MIN), -ERANGE);
	CHECK_EQUAL(cf_counter_compare(c, -CF_VALUE_MAX), 0);
	CHECK_EQUAL(cf_counter_compare(c, INT64_MIN), 1);
	CHECK_EQUAL(cf_counter_sum(c), -CF_VALUE_MAX);
}

TEST("near the ends, for every kind")
{
	each_kind(ends, 3);
}

TEST("bad arguments are errors")
{
	struct cf_counter c;
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		CHECK(cf_counter_init(&c, (enum cf_counter_kind)kind, CF_VALUE_MAX + 1, NULL) < 0);
		CHECK(cf_counter_init(NULL, (enum cf_counter_kind)kind, 0, NULL) < 0);
	}
	CHECK_EQUAL(cf_counter_init(&c, CF_COUNTER_KINDS, 0, NULL), -EINVAL);
	CHECK(!cf_counter_kind_name(CF_COUNTER_KINDS));
	cf_counter_destroy(NULL);
}

HARNESS_MAIN
