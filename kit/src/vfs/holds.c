// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * References of open files. While an inode has a name, the name's reference keeps it, so nobody needs the number of others: each
 * CPU counts its own in a table of slots. When the last name goes, gather adds them to inode->count.
 *
 * A slot is one word: which inode, and how many. An inode has one slot in each CPU's table, and shares it with others: who finds
 * another one's there takes a reference as everybody does. A hold is given back where it was counted, on whichever CPU, so a
 * count is never below 0.
 * Invariants:
 *   A. inode->count, and the inode's counts in all tables, together are never less than its references.
 *   B. Who counts in a slot looks afterwards whether the inode is still `counted`; gather takes that away, and then looks at the
 *      slots. Both are sequentially consistent: one sees the other. So is the mark that a CPU has used its table.
 */
#include "reference.h"
#include <corefold/cf_icache.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef CF_HOLD_BITS // fewer, to have collisions in tests
#define CF_HOLD_BITS 8
#endif
enum { SLOTS = 1 << CF_HOLD_BITS, COUNT_BITS = 14, COUNT_MOST = (1 << COUNT_BITS) - 1, MARKS = 64 };

// An address of 56 bits at most, whose last 6 are 0.
static uint64_t name_of(const struct cf_inode *inode)
{
	return (uint64_t)(uintptr_t)inode / CF_LINE << COUNT_BITS;
}

static bool is_of(uint64_t word, const struct cf_inode *inode)
{
	return (word & ~(uint64_t)COUNT_MOST) == name_of(inode) && word & COUNT_MOST;
}

int cf_holds_init(struct cf_holds *h)
{
	size_t words;
	cf_cpu_start();
	h->cpus = cf_slot_count();
	words = (h->cpus + MARKS - 1) / MARKS;
	h->used = aligned_alloc(CF_LINE, (words * 8 + CF_LINE - 1) / CF_LINE * CF_LINE);
	h->slots = aligned_alloc(CF_LINE, h->cpus * sizeof(uint64_t[SLOTS]));
	if (!h->used || !h->slots)
		return -ENOMEM;
	memset(h->used, 0, words * 8);
	memset(h->slots, 0, h->cpus * sizeof(uint64_t[SLOTS]));
	return 0;
}

void cf_holds_destroy(struct cf_holds *h)
{
	free(h->used);
	free(h->slots);
	h->used = h->slots = NULL;
}

static uint32_t slot_of(uint32_t cpu, const struct cf_inode *inode)
{
	return cpu * SLOTS + (uint32_t)((uintptr_t)inode / CF_LINE * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CF_HOLD_BITS));
}

// Once for each CPU. Sequentially consistent: invariant B. x86 cannot tell: a locked instruction follows each time; aarch64 can.
void cf_holds_use(struct cf_holds *h, uint32_t cpu)
{
	const uint64_t mark = UINT64_C(1) << cpu % MARKS;
	if (!(__atomic_load_n(&h->used[cpu / MARKS], __ATOMIC_SEQ_CST) & mark))
		__atomic_fetch_or(&h->used[cpu / MARKS], mark, __ATOMIC_SEQ_CST);
}

// False: the slot is another inode's, or full.
static bool count_one(uint64_t *slot, const struct cf_inode *inode)
{
	uint64_t word = __atomic_load_n(slot, __ATOMIC_RELAXED), more; // relaxed: the exchange decides
	do {
		if (word && (!is_of(word, inode) || (word & COUNT_MOST) == COUNT_MOST))
			return false;
		more = (word ? word : name_of(inode)) + 1;
		// Sequentially consistent: invariant B. x86 cannot tell: its locked instructions are fences.
	} while (!__atomic_compare_exchange_n(slot, &word, more, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return true;
}

// False: none of this inode's is there any more, since gather took them.
static bool count_off(uint64_t *slot, const struct cf_inode *inode)
{
	uint64_t word = __atomic_load_n(slot, __ATOMIC_RELAXED), less; // relaxed: the exchange decides
	do {
		if (!is_of(word, inode))
			return false;
		less = (word & COUNT_MOST) == 1 ? 0 : word - 1;
		// Release: what this holder did before what gather does, and who evicts. Acquire: if false, after gather's addition.
		// x86 cannot tell; aarch64 and POWER could put a reference before it is added.
	} while (!__atomic_compare_exchange_n(slot, &word, less, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return true;
}

static bool is_counted(const struct cf_inode *inode)
{
	// Invariant B. x86 cannot tell: a locked instruction comes before it; aarch64 can.
	return __atomic_load_n(&inode->counted, __ATOMIC_SEQ_CST);
}

bool cf_inode_hold(struct cf_inode *inode, uint32_t *hold)
{
	struct cf_holds *h = &inode->cache->holds;
	uint32_t cpu = cf_cpu_current(), at = slot_of(cpu, inode);
	*hold = 0;
	if (!is_counted(inode))
		return cf_inode_grab(inode);
	cf_holds_use(h, cpu);
	CF_TEST_POINT("hold: marked");
	if (!count_one(&h->slots[at], inode))
		return cf_inode_grab(inode);
	CF_TEST_POINT("hold: counted");
	if (is_counted(inode))
		*hold = at + 1;
	else if (count_off(&h->slots[at], inode))
		return cf_inode_grab(inode);
	return true; // hold 0: gather has added it to inode->count
}

void cf_inode_unhold(struct cf_inode *inode, uint32_t hold)
{
	if (!hold || !count_off(&inode->cache->holds.slots[hold - 1], inode))
		cf_inode_put(inode);
}

// Added before it is taken out: invariant A. The caller has a reference, so the count does not fall to 0 here.
static void gather_slot(uint64_t *slot, struct cf_inode *inode)
{
	// Invariant B. x86 cannot tell: a locked instruction comes before it; aarch64 can.
	uint64_t word = __atomic_load_n(slot, __ATOMIC_SEQ_CST);
	int32_t count;
	do {
		if (!is_of(word, inode))
			return;
		count = (int32_t)(word & COUNT_MOST);
		__atomic_fetch_add(&inode->count, count, __ATOMIC_RELAXED); // relaxed: published by the exchange
		CF_TEST_POINT("hold: gathering");
		// Acquire: after those who have given theirs back. Release: the addition before count_off finds none. x86 cannot tell;
		// aarch64 and POWER can.
		if (__atomic_compare_exchange_n(slot, &word, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return;
		__atomic_fetch_sub(&inode->count, count, __ATOMIC_RELAXED); // relaxed: the caller's reference keeps it above 0
	} while (true);
}

void cf_inode_gather(struct cf_inode *inode)
{
	struct cf_holds *h = &inode->cache->holds;
	// Invariant B, here and below. x86 cannot tell: its locked instructions are fences; aarch64 can.
	if (!is_counted(inode) || !__atomic_exchange_n(&inode->counted, 0, __ATOMIC_SEQ_CST))
		return;
	for (uint32_t first = 0; first < h->cpus; first += MARKS)
		for (uint64_t used = __atomic_load_n(&h->used[first / MARKS], __ATOMIC_SEQ_CST); used; used &= used - 1)
			gather_slot(&h->slots[slot_of(first + (uint32_t)__builtin_ctzll(used), inode)], inode);
}
