// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_tree_counter.h>

#include "section.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A node has its total, and `carried`, the part of it that its parent has. No update of either may leave them a batch
 * apart without another check:
 *   Leaves: both words change as one, on their CPU, so every add leaves them less than a batch apart.
 *   Nodes: any thread changes them, and after a change of either word reads both, in one order of all such
 *   operations (sequentially consistent). So the thread that changed either last saw both as they are, and claimed the difference.
 * x86 cannot tell the order of these operations: the locked ones among them are full fences there. arm64 and RISC-V need it.
 * At rest, therefore, less than a batch stays behind in each; tests/windows.c, "tree: ...", and the storm.
 */
enum { BATCH_DEFAULT = 32, TRIES = 100 };

// The batch of a level of nodes; the root, which has no parent, never passes anything on.
static int64_t batch_of(const struct cf_tree_counter *c, uint32_t level)
{
	int64_t batch = c->batch;
	for (uint32_t i = 0; i <= level; i++)
		batch *= CF_TREE_FANOUT;
	return batch;
}

static uint32_t parents_of(uint32_t children)
{
	return (children + CF_TREE_FANOUT - 1) / CF_TREE_FANOUT;
}

// Claims what has gathered since the last claim, if that is a batch or more: it is the claimer's to pass on. Each claim is
// one compare-and-swap, so nothing goes up twice; after one the claimer must look again.
static int64_t claim(struct cf_tree_node *node, int64_t batch)
{
	// Sequentially consistent, as all below: the order above, which x86 cannot tell.
	int64_t from = __atomic_load_n(&node->carried, __ATOMIC_SEQ_CST);
	for (;;) {
		int64_t to = __atomic_load_n(&node->total, __ATOMIC_SEQ_CST);
		if (cf_value_distance(to, from) < (uint64_t)batch)
			return 0;
		CF_TEST_POINT("tree: claiming");
		if (__atomic_compare_exchange_n(&node->carried, &from, to, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return (int64_t)((uint64_t)to - (uint64_t)from);
	}
}

// Amounts of which the child at `level` has let go; as deep as the tree is.
static void carry_up(struct cf_tree_counter *c, uint32_t level, uint32_t child, int64_t amount)
{
	bool root = level + 1 == c->levels;
	uint32_t number = root ? 0 : child / CF_TREE_FANOUT;
	struct cf_tree_node *node = &c->nodes[c->first[level] + number];
	CF_TEST_POINT("tree: carrying");
	// Sequentially consistent: the total before the claimer's look at both words; x86 cannot tell.
	__atomic_fetch_add(&node->total, amount, __ATOMIC_SEQ_CST);
	if (root)
		return;
	while ((amount = claim(node, batch_of(c, level))) != 0)
		carry_up(c, level + 1, number, amount);
}

// A batch or more has gathered here: it goes up with the amount. MOVED: look again.
static int add_and_carry(struct cf_tree_counter *c, uint32_t cpu, int64_t amount)
{
	uint64_t total = cf_slot_word_load(&c->leaves[cpu]), carried = cf_slot_carried(&c->leaves[cpu]);
	uint64_t to = total + (uint64_t)amount;
	int64_t after;
	if (cf_value_distance((int64_t)to, (int64_t)carried) < (uint64_t)c->batch)
		return cf_slot_add_uncarried(c->leaves, amount, c->batch) == CF_SLOT_DONE ? CF_SLOT_DONE : CF_SLOT_MOVED;
	// Only what goes up can bring the sum to its end: less than a batch stays behind.
	if (!cf_value_add(cf_tree_counter_approximate(c), amount, &after))
		return -ERANGE;
	if (cf_slot_carry(c->leaves, cpu, total, carried, to) != CF_SLOT_DONE)
		return CF_SLOT_MOVED;
	carry_up(c, 0, cpu, (int64_t)(to - carried));
	return CF_SLOT_DONE;
}

int cf_tree_counter_add(struct cf_tree_counter *c, int64_t amount)
{
	int result;
	if (CF_LIKELY(cf_slot_add_uncarried(c->leaves, amount, c->batch) == CF_SLOT_DONE))
		return 0;
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (cf_slot_section_inside())
		return -EDEADLK;
	for (int tries = 0;; tries++) {
		// A thread that is interrupted at every try shares the last slot.
		result = add_and_carry(c, tries < TRIES ? cf_cpu_current() : cf_slot_count() - 1, amount);
		if (result != CF_SLOT_MOVED)
			return result;
	}
}

int64_t cf_tree_counter_sum(const struct cf_tree_counter *c)
{
	uint64_t sum = 0;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		sum += cf_slot_word_load(&c->leaves[cpu]);
	return (int64_t)sum;
}

int cf_tree_counter_compare_approximate(const struct cf_tree_counter *c, int64_t rhs)
{
	int64_t about = cf_tree_counter_approximate(c);
	return cf_value_distance(about, rhs) > (uint64_t)c->bound ? cf_value_order(about, rhs) : 0;
}

int cf_tree_counter_compare(const struct cf_tree_counter *c, int64_t rhs)
{
	int order = cf_tree_counter_compare_approximate(c, rhs);
	return order ? order : cf_value_order(cf_tree_counter_sum(c), rhs);
}

int cf_tree_counter_set(struct cf_tree_counter *c, int64_t value)
{
	uint32_t nodes = c->first[c->levels - 1] + 1;
	if (!cf_value_fits(value))
		return -ERANGE;
	// Relaxed: no add runs beside this.
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
		__atomic_store_n(&c->leaves[cpu].u.word, cpu ? 0 : (uint64_t)value, __ATOMIC_RELAXED);
		__atomic_store_n(&c->leaves[cpu].own[CF_SLOT_CARRIED], cpu ? 0 : (uint64_t)value, __ATOMIC_RELAXED);
	}
	for (uint32_t i = 0; i < nodes; i++) {
		int64_t total = i + 1 == nodes ? value : 0;
		__atomic_store_n(&c->nodes[i].total, total, __ATOMIC_RELAXED);
		__atomic_store_n(&c->nodes[i].carried, 0, __ATOMIC_RELAXED);
	}
	return 0;
}

// Each level's nodes, and the most that stays behind below the root.
static uint32_t plan(struct cf_tree_counter *c)
{
	uint32_t count = cf_slot_count(), nodes = 0;
	c->bound = (int64_t)count * (c->batch - 1);
	do {
		count = parents_of(count);
		c->first[c->levels] = nodes;
		nodes += count;
		if (count > 1)
			c->bound += (int64_t)count * (batch_of(c, c->levels) - 1);
		c->levels++;
	} while (count > 1);
	return nodes;
}

int cf_tree_counter_init(struct cf_tree_counter *c, int64_t value, int32_t batch)
{
	uint32_t nodes;
	if (!c || !CF_IS_ALIGNED(c) || !cf_value_fits(value) || batch < 0)
		return -EINVAL;
	cf_cpu_start();
	*c = (struct cf_tree_counter){ .batch = batch ? batch : BATCH_DEFAULT };
	nodes = plan(c);
	c->leaves = cf_slots_new();
	c->nodes = aligned_alloc(CF_LINE, nodes * sizeof *c->nodes);
	if (!c->leaves || !c->nodes) {
		cf_tree_counter_destroy(c);
		return -ENOMEM;
	}
	return cf_tree_counter_set(c, value);
}

void cf_tree_counter_destroy(struct cf_tree_counter *c)
{
	if (!c)
		return;
	cf_slots_free(c->leaves);
	free(c->nodes);
	c->leaves = NULL;
	c->nodes = NULL;
}
