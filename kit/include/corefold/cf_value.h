/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_value.h: the range of every counter of the kit, and arithmetic in it.
 *
 * A counter's shared count stays within +-CF_VALUE_MAX. Even with the deltas of 2^27 CPUs, of 2^31 each, a sum fits in 64
 * bits. So no sum, comparison or bound of the kit can overflow.
 */
#ifndef COREFOLD_CF_VALUE_H
#define COREFOLD_CF_VALUE_H

#include <corefold/cf_shim.h>
#include <stdbool.h>

#define CF_VALUE_MAX ((int64_t)1 << 60)

static inline bool cf_value_fits(int64_t value)
{
	return value >= -CF_VALUE_MAX && value <= CF_VALUE_MAX;
}

/* a + b into *sum if b and the sum fit. */
static inline bool cf_value_add(int64_t a, int64_t b, int64_t *sum)
{
	return cf_value_fits(b) && !__builtin_add_overflow(a, b, sum) && cf_value_fits(*sum);
}

/* -1, 0 or 1. */
static inline int cf_value_order(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* The larger less the smaller, exactly. */
static inline uint64_t cf_value_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

#endif
