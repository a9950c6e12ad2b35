// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bodies.h"
#include <corefold/cf_tree_counter.h>

static int add(void *c, int64_t amount)
{
	return cf_tree_counter_add(c, amount);
}

static int64_t sum(void *c)
{
	return cf_tree_counter_sum(c);
}

static int compare(void *c, int64_t rhs)
{
	return cf_tree_counter_compare(c, rhs);
}

static const struct subject subject = { "tree", add, NULL, sum, compare };

static struct cf_tree_counter c;

static void within_bounds(void)
{
	int64_t under, over, error = cf_tree_counter_sum(&c) - cf_tree_counter_approximate(&c);
	cf_tree_counter_bounds(&c, &under, &over);
	CHECK(error >= -under && error <= over);
}

TEST("sums are exact")
{
	const int32_t batches[] = { 1, 3, 32, INT32_MAX };
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		CHECK_EQUAL(cf_tree_counter_init(&c, 50, batches[i]), 0);
		sums_are_exact(&subject, &c, 50, 6, true);
		within_bounds();
		threads_come_and_go(&subject, &c, cf_tree_counter_sum(&c));
		cf_tree_counter_destroy(&c);
	}
}

TEST("the rough sum is within its bounds")
{
	uint64_t random = 1;
	CHECK_EQUAL(cf_tree_counter_init(&c, 0, 8), 0);
	for (long i = 0; i < scaled(100000); i++) {
		cf_tree_counter_add(&c, (int64_t)random_below(&random, 200) - (i & 4096 ? 150 : 50));
		within_bounds();
	}
	cf_tree_counter_destroy(&c);
}

TEST("a rough comparison decides when the bounds do")
{
	int64_t under, over;
	CHECK_EQUAL(cf_tree_counter_init(&c, 10000, 8), 0);
	cf_tree_counter_bounds(&c, &under, &over);
	CHECK_EQUAL(cf_tree_counter_compare_approximate(&c, 10000 - under - 1), 1);
	CHECK_EQUAL(cf_tree_counter_compare_approximate(&c, 10000 + over + 1), -1);
	CHECK_EQUAL(cf_tree_counter_compare_approximate(&c, 10001), 0);
	CHECK_EQUAL(cf_tree_counter_compare(&c, 10001), -1);
	CHECK_EQUAL(cf_tree_counter_compare(&c, 10000), 0);
	cf_tree_counter_destroy(&c);
}

TEST("adding and subtracting about a batch does not carry each time")
{
	CHECK_EQUAL(cf_tree_counter_init(&c, 0, 8), 0);
	for (int i = 0; i < 8; i++)
		cf_tree_counter_add(&c, 1);
	int64_t about = cf_tree_counter_approximate(&c);
	for (int i = 0; i < 100; i++) {
		cf_tree_counter_add(&c, i & 1 ? 1 : -1);
		CHECK_EQUAL(cf_tree_counter_approximate(&c), about);
	}
	cf_tree_counter_destroy(&c);
}

TEST("near the ends")
{
	CHECK_EQUAL(cf_tree_counter_init(&c, CF_VALUE_MAX, 32), 0);
	CHECK_EQUAL(cf_tree_counter_add(&c, 32), -ERANGE);
	CHECK_EQUAL(cf_tree_counter_add(&c, INT64_MIN), -ERANGE);
	CHECK_EQUAL(cf_tree_counter_sum(&c), CF_VALUE_MAX);
	for (int i = 0; i < 100; i++)
		(void)cf_tree_counter_add(&c, 31);
	CHECK(cf_tree_counter_sum(&c) - CF_VALUE_MAX < 32 * (int64_t)cf_cpu_count());
	cf_tree_counter_destroy(&c);
	CHECK_EQUAL(cf_tree_counter_init(&c, 0, -1), -EINVAL);
	CHECK_EQUAL(cf_tree_counter_init(&c, CF_VALUE_MAX + 1, 0), -EINVAL);
}

HARNESS_MAIN
