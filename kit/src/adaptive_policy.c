// SPDX-License-Identifier: MIT OR Apache-2.0
// When credit goes out and comes back, and how much. A wrong choice here costs time, never exactness.
#include "adaptive.h"

enum {
	CONTENDED_CHANGES = 4,    // of the word by one CPU, each after somebody else's
	CHANGES = 64,             // of the word by one CPU
	WORTHWHILE = 8,           // a smaller maximum saves too few visits to the word
	WORTHWHILE_COMPARED = 16, // a smaller maximum costs more visits than it saves sums
	EXPIRY_MAX = 1 << 20,
	SETTLE_EVERY = 1024,      // refills and flushes
};

// Hints that a CPU keeps in its slot; written by its threads without any protection.
enum { HINT_WORD = CF_SLOT_OWN, HINT_CHANGES, HINT_CONTENDED, HINT_SUMS };

static uint64_t hint(const struct cf_slot *slot, int which)
{
	return __atomic_load_n(&slot->own[which], __ATOMIC_RELAXED); // relaxed: a hint
}

static void set_hint(struct cf_slot *slot, int which, uint64_t value)
{
	__atomic_store_n(&slot->own[which], value, __ATOMIC_RELAXED); // relaxed: a hint
}

static int32_t max_within(const struct cf_adaptive_counter *c, uint64_t distance, uint64_t worthwhile)
{
	uint64_t each;
	if (distance < worthwhile * cf_cpu_count()) // before the division: comparisons at the limit ask often
		return 0;
	each = distance / cf_cpu_count();
	return each < (uint64_t)c->credit_max ? (int32_t)each : c->credit_max;
}

// Maxima so small that the count alone tells the value from `compared`; 0 if they would be too small.
static int32_t max_near_compared(const struct cf_adaptive_counter *c, int64_t count, int64_t compared)
{
	return compared == NOWHERE ? 0 : max_within(c, cf_value_distance(count, compared), WORTHWHILE_COMPARED);
}

// Near the guard, no credit: limited_add must find the value in the count. So near to a compared value that small maxima
// are not worthwhile, comparisons sum in any case, and maxima are large.
int32_t cf_adaptive_credit_max(const struct cf_adaptive_counter *c, int64_t count, int64_t compared)
{
	int64_t floor = guard(c);
	uint64_t distance = floor == NOWHERE ? (uint64_t)CF_VALUE_MAX * 4 : count > floor ? cf_value_distance(count, floor) : 0;
	int32_t max = max_within(c, distance, WORTHWHILE), small = max_near_compared(c, count, compared);
	return small && small < max ? small : max;
}

static bool wants_credit__(const struct cf_adaptive_counter *c, uint32_t cpu)
{
	return !is_holder__(c, cpu) && hint(&c->slots[cpu], HINT_CONTENDED) >= CONTENDED_CHANGES / 2;
}

// If this CPU met contention, all that met some get credit with it: one by one, each would have to get the lock, on the
// very line that they contend for.
void cf_adaptive_lend__(struct cf_adaptive_counter *c, bool to_all)
{
	uint32_t here = cf_cpu_current(), borrowers = 0;
	int32_t max = cf_adaptive_credit_max(c, count_of(load_word(c)), c->compared);
	bool wants[cf_slot_count()];
	if (max == 0)
		return;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
		wants[cpu] = cpu == here ? !is_holder__(c, cpu) : to_all && wants_credit__(c, cpu);
		borrowers += wants[cpu];
	}
	if (borrowers == 0)
		return;
	change_max_total__(c, (int64_t)borrowers * max);
	if (!cf_adaptive_debit__(c, (int64_t)borrowers * (max / 2), 0)) {
		change_max_total__(c, -(int64_t)borrowers * max);
		return;
	}
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		if (wants[cpu])
			cf_adaptive_open__(c, cpu, max);
}

void cf_adaptive_set_guard__(struct cf_adaptive_counter *c, int64_t guard)
{
	// Relaxed: it is lowered, which refuses more. Release: the guard before the watermark, so that an add that finds this
	// watermark, and returns, is followed by no limited_add that finds the old guard. x86 cannot tell, its stores stay in order; arm64 and RISC-V
	// need it.
	__atomic_store_n(&c->guard, guard, __ATOMIC_RELAXED);
	__atomic_store_n(&c->watermark, guard, __ATOMIC_RELEASE);
}

// limited_add's fast path may serve this limit from now on (invariant 6), if the count is above it.
void cf_adaptive_raise_guard__(struct cf_adaptive_counter *c, int64_t limit)
{
	int64_t old = guard(c);
	if (limit <= old)
		return;
	if (count_of(load_word(c)) < limit)
		(void)cf_adaptive_call_back__(c, NULL);
	if (count_of(load_word(c)) < limit) // out of reach: a guard up there would keep the counter global
		return;
	CF_TEST_POINT("adaptive: about to raise");
	// Sequentially consistent: the watermark before the look at the count; in cf_adaptive_check_watermark the other way
	// round. One of the two finds what the other wrote. No limited_add reads the guard before that is decided.
	// x86 cannot tell, here and below: each exchange is a full fence there. arm64 and RISC-V need these orders.
	__atomic_exchange_n(&c->watermark, limit, __ATOMIC_SEQ_CST);
	CF_TEST_POINT("adaptive: raising");
	if (count_of(__atomic_load_n(&c->word, __ATOMIC_SEQ_CST)) < limit) {
		__atomic_exchange_n(&c->watermark, old, __ATOMIC_SEQ_CST);
		return;
	}
	CF_TEST_POINT("adaptive: looked");
	__atomic_exchange_n(&c->guard, limit, __ATOMIC_SEQ_CST);
	CF_TEST_POINT("adaptive: raised");
}

// A compared value expires: it may be nobody's limit any more.
void cf_adaptive_age_compared__(struct cf_adaptive_counter *c)
{
	if (c->compared == NOWHERE || ++c->compared_age < c->compared_expiry)
		return;
	__atomic_store_n(&c->compared, NOWHERE, __ATOMIC_RELAXED); // relaxed: policy
	c->guessed = 1;
}

// A CPU has changed the word often: should it have a credit?
static void consider_lending(struct cf_adaptive_counter *c, struct cf_slot *slot, int64_t count, int64_t limit,
			     bool contended)
{
	set_hint(slot, HINT_CHANGES, 0);
	set_hint(slot, HINT_CONTENDED, contended ? CONTENDED_CHANGES / 2 : 0);
	// Relaxed: policy.
	if (cf_adaptive_credit_max(c, count, __atomic_load_n(&c->compared, __ATOMIC_RELAXED)) == 0)
		return;
	cf_section_enter();
	// Held: somebody else is moving credit, and may bring this CPU's as well.
	if (try_lock(c)) {
		cf_adaptive_age_compared__(c);
		cf_adaptive_raise_guard__(c, limit);
		cf_adaptive_lend__(c, contended);
		unlock_word(c);
	}
	cf_section_leave();
}

void cf_adaptive_changed(struct cf_adaptive_counter *c, uint32_t cpu, uint64_t before, uint64_t after, int64_t limit)
{
	struct cf_slot *slot = &c->slots[cpu];
	uint64_t changes = hint(slot, HINT_CHANGES) + 1;
	uint64_t contended = hint(slot, HINT_CONTENDED) + (hint(slot, HINT_WORD) != before);
	set_hint(slot, HINT_WORD, after);
	set_hint(slot, HINT_CHANGES, changes);
	set_hint(slot, HINT_CONTENDED, contended);
	if (contended >= CONTENDED_CHANGES || changes >= CHANGES)
		consider_lending(c, slot, count_of(after), limit, contended >= CONTENDED_CHANGES);
}

void cf_adaptive_collided(struct cf_adaptive_counter *c, uint32_t cpu, uint64_t word, int64_t limit)
{
	consider_lending(c, &c->slots[cpu], count_of(word), limit, true);
}

static void shrink_credits__(struct cf_adaptive_counter *c, int64_t compared)
{
	if (cf_adaptive_call_back__(c, NULL) < 0)
		return;
	__atomic_store_n(&c->compared, compared, __ATOMIC_RELAXED);
	if (c->sums_to_shrink < EXPIRY_MAX)
		__atomic_store_n(&c->sums_to_shrink, 2 * c->sums_to_shrink, __ATOMIC_RELAXED);
	if (c->guessed && c->compared_expiry < EXPIRY_MAX)
		c->compared_expiry *= 2;
	c->guessed = 0;
	c->compared_age = 0;
}

// Where smaller maxima would have decided a comparison without a sum, all credit is called back once this CPU has summed
// `sums_to_shrink` times, which doubles each time.
void cf_adaptive_summed(struct cf_adaptive_counter *c, int64_t sum, int64_t rhs)
{
	struct cf_lock_node node;
	struct cf_slot *slot = &c->slots[cf_cpu_current()];
	uint64_t sums;
	uint32_t enough;
	if (max_near_compared(c, sum, rhs) == 0 || cf_section_inside())
		return;
	sums = hint(slot, HINT_SUMS) + 1;
	enough = __atomic_load_n(&c->sums_to_shrink, __ATOMIC_RELAXED); // relaxed: policy
	set_hint(slot, HINT_SUMS, sums < enough ? sums : 0);
	if (sums < enough)
		return;
	lock(c, &node);
	if (c->sums_to_shrink == enough) // else somebody has done it meanwhile: CPUs that sum all get here together
		shrink_credits__(c, rhs);
	unlock(c, &node);
}

// Folds the holders that have counted nothing since this last looked.
int cf_adaptive_settle__(struct cf_adaptive_counter *c)
{
	bool idle[cf_slot_count()];
	c->refills = 0;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
		uint32_t total = (uint32_t)cf_slot_word_load(&c->slots[cpu]); // its low half: an unlucky guess is harmless
		idle[cpu] = is_holder__(c, cpu) && c->seen[cpu] == total;
		c->seen[cpu] = total + idle[cpu]; // who comes back is looked at twice again
	}
	return cf_adaptive_call_back__(c, idle);
}

void cf_adaptive_refilled__(struct cf_adaptive_counter *c)
{
	if (++c->refills >= SETTLE_EVERY)
		cf_adaptive_settle__(c);
}
