// SPDX-License-Identifier: MIT OR Apache-2.0
// Credit moves between the count and slots. `granted` makes up for what the count gives, and a slot's total never
// changes by a move: so count + granted and all totals stand still (invariant 5).
#include "adaptive.h"

#include <errno.h>

// The count gives credit, or gets it back (negative), and changes by `amount`, which is a change of the value.
static uint64_t grant__(struct cf_adaptive_counter *c, int64_t credit, int64_t amount, uint64_t flags)
{
	// Release: this section's `moves` before it (look_at_count). x86 cannot tell, its stores stay in order; arm64 and RISC-V
	// need it.
	__atomic_store_n(&c->granted, c->granted + credit, __ATOMIC_RELEASE);
	CF_TEST_POINT("adaptive: granting");
	return add_to_word(c, flags + in_word(amount - credit));
}

static void mark_holder__(struct cf_adaptive_counter *c, uint32_t cpu, bool holds)
{
	uint64_t bit = (uint64_t)1 << cpu % 64, *map = &c->holders[cpu / 64];
	*map = holds ? *map | bit : *map & ~bit;
}

static bool any_holder__(const struct cf_adaptive_counter *c)
{
	for (uint32_t i = 0; i < holder_words(); i++)
		if (holders__(c, i))
			return true;
	return false;
}

// The credit that closed slots gave up goes to the count; the last one clears LENT (invariant 3).
static void give_back__(struct cf_adaptive_counter *c, int64_t credit, int64_t max_total)
{
	uint64_t last = any_holder__(c) ? 0 : LENT;
	grant__(c, -credit, 0, -last);
	change_max_total__(c, -max_total);
}

// From a closed and fenced slot, whose total nobody changes.
static int32_t take_all__(struct cf_adaptive_counter *c, uint32_t cpu)
{
	struct cf_slot *slot = &c->slots[cpu];
	int32_t credit = cf_slot_credit(slot);
	cf_slot_base_set(slot, cf_slot_word_load(slot));
	mark_holder__(c, cpu, false);
	return credit;
}

int cf_adaptive_call_back__(struct cf_adaptive_counter *c, const bool *wanted)
{
	int64_t credit = 0, max_total = 0;
	int called = 0, result;
	int32_t before[cf_slot_count()];
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
		before[cpu] = 0;
		if (!is_holder__(c, cpu) || (wanted && !wanted[cpu]))
			continue;
		before[cpu] = cf_slot_credit_max(&c->slots[cpu]);
		max_total += before[cpu];
		cf_slot_credit_max_set(&c->slots[cpu], 0);
		called++;
	}
	if (!called)
		return 0;
	CF_TEST_POINT("adaptive: closed");
	result = cf_cpu_fence(-1); // maxima before takes: cf_cpu.h, ordering 2
	for (uint32_t cpu = 0; result && cpu < cf_slot_count(); cpu++)
		if (before[cpu])
			cf_slot_credit_max_set(&c->slots[cpu], before[cpu]);
	if (result)
		return result;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		if (is_holder__(c, cpu) && (!wanted || wanted[cpu]))
			credit += take_all__(c, cpu);
	give_back__(c, credit, max_total);
	return called;
}

// One addition, undone if it was too much: under a storm of adds a compare-and-swap would hardly ever succeed. While it
// is too much, LENT is set, so whoever finds too little waits for the lock.
bool cf_adaptive_debit__(struct cf_adaptive_counter *c, int64_t credit, int64_t amount)
{
	uint64_t mark = load_word(c) & LENT ? 0 : LENT; // the lock holder alone changes that bit
	int64_t after = count_of(grant__(c, credit, amount, mark));
	if (cf_value_fits(after) && (guard(c) == NOWHERE || after >= guard(c)))
		return true;
	grant__(c, -credit, -amount, -mark);
	return false;
}

// Nobody else writes a closed slot.
void cf_adaptive_open__(struct cf_adaptive_counter *c, uint32_t cpu, int32_t max)
{
	struct cf_slot *slot = &c->slots[cpu];
	mark_holder__(c, cpu, true);
	cf_slot_base_set(slot, cf_slot_word_load(slot) - (uint64_t)(max / 2));
	cf_slot_credit_max_set(slot, max);
}

int cf_adaptive_add_checked(struct cf_adaptive_counter *c, int64_t amount, uint64_t *before)
{
	int64_t after;
	*before = load_word(c);
	do
		if (!cf_value_add(count_of(*before), amount, &after))
			return -ERANGE;
	while (!swap_word(c, before, *before + in_word(amount)));
	return 0;
}

// The credit of the CPU that runs here becomes `to`. False: it is not this CPU any more, or it has just counted.
static bool set_own_credit__(struct cf_adaptive_counter *c, uint32_t cpu, uint64_t total, int32_t to)
{
	return cf_slot_rebase(c->slots, cpu, total, total - (uint64_t)(int64_t)to) == CF_SLOT_DONE;
}

// The owner needs no fence (invariant 4) if it is still the one that runs here.
int cf_adaptive_fold_own__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount)
{
	struct cf_slot *slot = &c->slots[cpu];
	int32_t max = cf_slot_credit_max(slot), credit;
	uint64_t before, total;
	cf_slot_credit_max_set(slot, 0);
	total = cf_slot_word_load(slot);
	credit = (int32_t)(int64_t)(total - cf_slot_base(slot));
	CF_TEST_POINT("adaptive: folding");
	if (set_own_credit__(c, cpu, total, 0)) {
		mark_holder__(c, cpu, false);
		give_back__(c, credit, max);
	} else if (cf_cpu_fence((int)cpu) == 0) {
		credit = take_all__(c, cpu);
		give_back__(c, credit, max);
	} else {
		cf_slot_credit_max_set(slot, max); // it keeps what it has
	}
	return cf_adaptive_add_checked(c, amount, &before);
}

// The count is lowered before the credit grows: it never is above the value.
bool cf_adaptive_refill__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount)
{
	struct cf_slot *slot = &c->slots[cpu];
	uint64_t total = cf_slot_word_load(slot);
	int32_t credit = (int32_t)(int64_t)(total - cf_slot_base(slot)), half = cf_slot_credit_max(slot) / 2;
	int64_t lack = credit < half ? half - credit : 0;
	CF_TEST_POINT("adaptive: refilling");
	if (!cf_adaptive_debit__(c, lack, amount))
		return false;
	if (lack && !set_own_credit__(c, cpu, total, half))
		grant__(c, -lack, 0, 0); // the amount is counted; the credit is what it was
	return true;
}

// The credit is lowered before the count grows: the count never is above the value.
void cf_adaptive_flush__(struct cf_adaptive_counter *c, uint32_t cpu, int64_t amount)
{
	struct cf_slot *slot = &c->slots[cpu];
	uint64_t total = cf_slot_word_load(slot);
	int32_t credit = (int32_t)(int64_t)(total - cf_slot_base(slot)), half = cf_slot_credit_max(slot) / 2;
	CF_TEST_POINT("adaptive: flushing");
	bool surplus = credit > half && set_own_credit__(c, cpu, total, half);
	grant__(c, surplus ? half - credit : 0, amount, 0);
}

void cf_adaptive_grow__(struct cf_adaptive_counter *c, uint32_t cpu, int32_t max)
{
	// Before the slot can hold more: invariant 2. Tests cannot tell: a reader of both waits for the end of this section.
	change_max_total__(c, (int64_t)max - cf_slot_credit_max(&c->slots[cpu]));
	cf_slot_credit_max_set(&c->slots[cpu], max);
}
