// SPDX-License-Identifier: MIT OR Apache-2.0
#include "adaptive.h"

#include <errno.h>
#include <stdlib.h>

enum { CREDIT_MAX_DEFAULT = 2048, SUMS_TO_SHRINK = 8, EXPIRY = 64 };

// Larger amounts are added by compare-and-swap: 2^16 threads that each have a smaller one refused cannot carry the
// word past its end.
#define AMOUNT_BLIND ((int64_t)1 << 44)

void cf_adaptive_check_watermark(struct cf_adaptive_counter *c, uint64_t word)
{
	struct cf_lock_node node;
	// Sequentially consistent: the count, changed before, then the watermark (raise_guard__). x86 cannot tell: the change
	// was a locked operation, a full fence there. arm64 and RISC-V need it.
	if (!(word & LENT) || count_of(word) >= __atomic_load_n(&c->watermark, __ATOMIC_SEQ_CST))
		return;
	CF_TEST_POINT("adaptive: below the watermark");
	lock(c, &node);
	if (cf_adaptive_call_back__(c, NULL) < 0) // the credit stays out, and serves no limit
		cf_adaptive_set_guard__(c, NOWHERE);
	unlock(c, &node);
}

static int add_to_count(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount)
{
	uint64_t before, after;
	if (cf_value_distance(amount, 0) > (uint64_t)AMOUNT_BLIND) {
		if (cf_adaptive_add_checked(c, amount, &before))
			return -ERANGE;
		after = before + in_word(amount);
	} else {
		after = add_to_word(c, in_word(amount));
		before = after - in_word(amount);
		if (CF_UNLIKELY(!cf_value_fits(count_of(after)))) {
			add_to_word(c, in_word(-amount));
			return -ERANGE;
		}
	}
	if (amount < 0)
		cf_adaptive_check_watermark(c, after);
	cf_adaptive_changed(c, cpu, before, after, NOWHERE);
	return 0;
}

// An amount that does not fit between the credit and the maximum: by the count, and the credit is made half full again.
static void rebalance__(struct cf_adaptive_counter *c, uint32_t cpu, int32_t max, int32_t best, int64_t amount, int *result)
{
	if (amount > 0) {
		cf_adaptive_flush__(c, cpu, amount);
	} else if (!cf_adaptive_refill__(c, cpu, amount)) { // too near a limit to hold a credit of this size
		*result = cf_adaptive_fold_own__(c, cpu, amount);
		return;
	}
	if (best / 2 >= max)
		cf_adaptive_grow__(c, cpu, best);
	cf_adaptive_refilled__(c);
}

// An amount that does not fit into this CPU's credit. False: start again.
static bool add_beyond_credit(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount, int *result)
{
	struct cf_lock_node node;
	struct cf_slot *slot = &c->slots[cpu];
	uint64_t word;
	int64_t after;
	int32_t max, best;
	*result = 0;
	CF_TEST_POINT("adaptive: beyond credit");
	lock(c, &node);
	cf_adaptive_age_compared__(c);
	word = load_word(c);
	max = cf_slot_credit_max(slot);
	best = cf_adaptive_credit_max(c, count_of(word), c->compared);
	if (max == 0) { // called back meanwhile
	} else if (!cf_value_add(count_of(word), amount, &after) || !cf_value_add(after, cf_slot_credit(slot), &after)) {
		*result = -ERANGE;
	} else if (best < max / 2) {
		*result = cf_adaptive_fold_own__(c, cpu, amount);
		cf_adaptive_lend__(c, false);
	} else {
		rebalance__(c, cpu, max, best, amount, result);
	}
	word = load_word(c);
	unlock(c, &node);
	if (amount < 0)
		cf_adaptive_check_watermark(c, word);
	return max != 0;
}

int cf_adaptive_counter_add_slow(struct cf_adaptive_counter *c, int64_t amount)
{
	int result;
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (cf_section_inside())
		return -EDEADLK;
	for (;;) {
		uint32_t cpu = cf_cpu_current();
		if (cf_slot_credit_max(&c->slots[cpu]) == 0)
			return add_to_count(c, cpu, amount);
		if (cf_slot_add_credit(c->slots, amount) == CF_SLOT_DONE)
			return 0;
		if (add_beyond_credit(c, cpu, amount, &result))
			return result;
	}
}

int64_t cf_adaptive_counter_read(const struct cf_adaptive_counter *c)
{
	uint64_t word = load_word(c);
	// Relaxed: half of the maxima is an estimate in any case.
	return count_of(word) + (word & LENT ? __atomic_load_n(&c->max_total, __ATOMIC_RELAXED) / 2 : 0);
}

// Together at one moment: the count, what all slots could add to it, and the count as if nothing had ever been lent,
// to which the slots' totals belong. Returns whether anything is lent.
static inline bool look_at_count(const struct cf_adaptive_counter *c, int64_t *count, int64_t *max_total, int64_t *own)
{
	for (unsigned looks = 0;;) {
		// Acquire: moves before the word. x86 cannot tell, its loads stay in order; arm64 and RISC-V need it.
		uint64_t moves = __atomic_load_n(&c->moves, __ATOMIC_ACQUIRE);
		uint64_t word = load_word(c);                                 // acquire: the word before the rest
		*count = *own = count_of(word);
		if (!(word & LENT))
			return false;
		CF_TEST_POINT("adaptive: looking");
		*own += (int64_t)cf_load_in_order((const uint64_t *)&c->granted);
		*max_total = (int64_t)cf_load_in_order((const uint64_t *)&c->max_total);
		// Nobody held the lock when the word was loaded, nor took it since. Relaxed: the last of these loads.
		if (!(word & LOCKED) && moves == __atomic_load_n(&c->moves, __ATOMIC_RELAXED))
			return true;
		if (cf_section_inside()) // a signal handler beside its own thread's section: as things stand there
			return true;
		if (CF_LOCK_PARKS && ++looks > CF_LOCK_SPINS)
			cf_lock_sleep(); // the holder may need this CPU
		else
			cf_pause();
	}
}

// Credit may move meanwhile: that changes neither `own` nor any total. Totals wrap; their sum with `own` fits.
static inline int64_t sum_from(const struct cf_adaptive_counter *c, int64_t own)
{
	uint64_t sum = (uint64_t)own;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		sum += cf_slot_word_load(&c->slots[cpu]);
	return (int64_t)sum;
}

void cf_adaptive_counter_bounds(const struct cf_adaptive_counter *c, int64_t *low, int64_t *high)
{
	int64_t max_total = 0, own;
	bool lent = look_at_count(c, low, &max_total, &own);
	*high = *low + (lent ? max_total : 0);
}

int64_t cf_adaptive_counter_sum(struct cf_adaptive_counter *c)
{
	int64_t count, max_total, own;
	return look_at_count(c, &count, &max_total, &own) ? sum_from(c, own) : count;
}

int cf_adaptive_counter_compare_slow(struct cf_adaptive_counter *c, int64_t rhs)
{
	int64_t count, max_total, own, sum;
	if (!look_at_count(c, &count, &max_total, &own))
		return cf_value_order(count, rhs);
	if (count > rhs || count + max_total < rhs)
		return count > rhs ? 1 : -1;
	sum = sum_from(c, own);
	cf_adaptive_summed(c, sum, rhs);
	return cf_value_order(sum, rhs);
}

int cf_adaptive_counter_settle(struct cf_adaptive_counter *c)
{
	struct cf_lock_node node;
	int folded;
	if (cf_section_inside())
		return -EDEADLK;
	lock(c, &node);
	folded = cf_adaptive_settle__(c);
	unlock(c, &node);
	return folded;
}

int cf_adaptive_counter_holders(struct cf_adaptive_counter *c)
{
	struct cf_lock_node node;
	int count = 0;
	if (cf_section_inside())
		return -EDEADLK;
	lock(c, &node);
	for (uint32_t i = 0; i < holder_words(); i++)
		count += __builtin_popcountll(holders__(c, i));
	unlock(c, &node);
	return count;
}

int cf_adaptive_counter_set(struct cf_adaptive_counter *c, int64_t value)
{
	struct cf_lock_node node;
	uint64_t word;
	int result;
	if (!cf_value_fits(value))
		return -ERANGE;
	if (cf_section_inside())
		return -EDEADLK;
	lock(c, &node);
	result = cf_adaptive_call_back__(c, NULL);
	if (result >= 0) {
		cf_adaptive_set_guard__(c, NOWHERE);
		__atomic_store_n(&c->compared, NOWHERE, __ATOMIC_RELAXED); // relaxed: policy
		word = load_word(c);
		while (!swap_word(c, &word, in_word(value) | LOCKED))
			;
	}
	unlock(c, &node);
	return result < 0 ? result : 0;
}

int cf_adaptive_counter_init(struct cf_adaptive_counter *c, int64_t value, int32_t credit_max)
{
	if (!c || !CF_IS_ALIGNED(c) || !cf_value_fits(value) || credit_max < 0)
		return -EINVAL;
	cf_cpu_start();
	*c = (struct cf_adaptive_counter){ .guard = NOWHERE, .watermark = NOWHERE, .compared = NOWHERE, .compared_expiry = EXPIRY, .sums_to_shrink = SUMS_TO_SHRINK };
	c->credit_max = credit_max ? credit_max : CREDIT_MAX_DEFAULT;
	c->word = in_word(value);
	cf_lock_init(&c->queue, CF_LOCK_QUEUED);
	c->slots = cf_slots_new();
	c->holders = calloc(holder_words(), sizeof *c->holders);
	c->seen = calloc(cf_slot_count(), sizeof *c->seen);
	if (c->slots && c->holders && c->seen)
		return 0;
	cf_adaptive_counter_destroy(c);
	return -ENOMEM;
}

void cf_adaptive_counter_destroy(struct cf_adaptive_counter *c)
{
	if (!c)
		return;
	cf_slots_free(c->slots);
	free(c->holders);
	free(c->seen);
	c->slots = NULL;
	c->holders = NULL;
	c->seen = NULL;
}
