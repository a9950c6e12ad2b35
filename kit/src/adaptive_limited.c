// SPDX-License-Identifier: MIT OR Apache-2.0
// Adding only within a limit, where the slot alone cannot.
#include "adaptive.h"

#include <errno.h>

enum { CAS_FAILURES = 2 };

// Invariant 3 makes the decision exact: nothing is lent, and the lock keeps it so.
static int decide__(struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	uint64_t word = load_word(c);
	for (;;) {
		int64_t after;
		if (!cf_value_add(count_of(word), amount, &after))
			return -ERANGE;
		if (amount < 0 ? after < limit : after > limit)
			return -ENOSPC;
		if (swap_word(c, &word, word + in_word(amount)))
			return 0;
	}
}

static int limited_add_exactly(struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	int result;
	lock(c, &node);
	result = cf_adaptive_call_back__(c, NULL);
	if (result >= 0)
		result = decide__(c, limit, amount);
	if (result == 0) // slots that are lent to may serve this limit: else the next call would call them back again
		cf_adaptive_raise_guard__(c, limit);
	unlock(c, &node);
	return result;
}

// This CPU's credit does not suffice: more of it, if the limit is one that credit may serve.
static bool refill_and_take(struct cf_adaptive_counter *c, uint32_t cpu, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	struct cf_slot *slot = &c->slots[cpu];
	int32_t max;
	bool done = false;
	if (cf_slot_credit_max(slot) == 0)
		return false;
	lock(c, &node);
	max = cf_slot_credit_max(slot);
	if (max && cf_adaptive_credit_max(c, count_of(load_word(c)), c->compared) < max / 2) {
		cf_adaptive_fold_own__(c, cpu, 0);
		cf_adaptive_lend__(c, false);
	} else if (max && limit <= guard(c)) { // tests cannot tell `max`: without it LENT would stay set with no holder, and results are the same
		// The debit leaves the count at or above the guard, and so at or above the limit.
		done = cf_adaptive_refill__(c, cpu, amount);
	}
	unlock(c, &node);
	return done;
}

// Surely too little, at one moment: the count with all that could be lent.
static bool surely_below(const struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	int64_t low, high;
	cf_adaptive_counter_bounds(c, &low, &high);
	return high + amount < limit;
}

static int limited_add_down(struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	uint32_t cpu = cf_cpu_current();
	uint64_t word;
	int failures = 0;
	if (refill_and_take(c, cpu, limit, amount))
		return 0;
	word = load_word(c);
	for (;;) {
		int64_t after = count_of(word) + amount; // both fit, so does the sum into 64 bits
		if (after < limit && (!(word & LENT) || surely_below(c, limit, amount)))
			return -ENOSPC; // nothing lent: exact at the moment of the load (invariant 3)
		if (after < limit)
			return limited_add_exactly(c, limit, amount);
		if (!cf_value_fits(after))
			return -ERANGE;
		CF_TEST_POINT("adaptive: taking");
		// value >= count, so a count that can afford it is enough, whatever is lent.
		if (swap_word(c, &word, word + in_word(amount)))
			break;
		if (++failures == CAS_FAILURES) {
			cf_adaptive_collided(c, cpu, word, limit);
			if (limit <= guard(c) && cf_slot_add_credit(c->slots, amount) == CF_SLOT_DONE)
				return 0;
			word = load_word(c);
		}
	}
	cf_adaptive_check_watermark(c, word + in_word(amount));
	cf_adaptive_changed(c, cpu, word, word + in_word(amount), limit);
	return 0;
}

// Credit may grow up to the maxima while this decides: they count as used. What fits then, fits: plain adds that raise the
// count meanwhile count as after it (guarantee 1).
static int limited_add_up(struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	int result = 0;
	lock(c, &node);
	if (count_of(load_word(c)) + amount + c->max_total > limit) {
		result = cf_adaptive_call_back__(c, NULL);
		__atomic_store_n(&c->compared, limit, __ATOMIC_RELAXED); // relaxed: policy
	}
	if (result >= 0)
		result = decide__(c, limit, amount);
	unlock(c, &node);
	return result;
}

int cf_adaptive_counter_limited_add_slow(struct cf_adaptive_counter *c, int64_t limit, int64_t amount)
{
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (!cf_value_fits(limit)) // beyond every value: refuses all, or nothing
		limit = limit < 0 ? -2 * CF_VALUE_MAX : 2 * CF_VALUE_MAX;
	if (amount == 0)
		return 0;
	if (cf_section_inside())
		return -EDEADLK;
	return amount < 0 ? limited_add_down(c, limit, amount) : limited_add_up(c, limit, amount);
}
