// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_tree_counter.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { CARRIED = 0, BATCH_DEFAULT = 32 };

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

// Claims what has gathered since the last claim, if that is a batch or more: it is the claimer's to pass on.
static int64_t claim(const int64_t *total, int64_t *carried, int64_t batch)
{
	// Relaxed: amounts alone; each claim is one compare-and-swap, so nothing goes up twice.
	int64_t from = __atomic_load_n(carried, __ATOMIC_RELAXED);
	for (;;) {
		int64_t to = __atomic_load_n(total, __ATOMIC_RELAXED);
		if (cf_value_distance(to, from) < (uint64_t)batch)
			return 0;
		if (__atomic_compare_exchange_n(carried, &from, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return (int64_t)((uint64_t)to - (uint64_t)from);
	}
}

static void carry_up(struct cf_tree_counter *c, uint32_t child, int64_t amount)
{
	for (uint32_t level = 0; amount != 0; level++) {
		child /= CF_TREE_FANOUT;
		struct cf_tree_node *node = &c->nodes[c->first[level] + (level + 1 < c->levels ? child : 0)];
		__atomic_fetch_add(&node->total, amount, __ATOMIC_RELAXED); // relaxed: amounts alone
		if (level + 1 == c->levels)
			return;
		amount = claim(&node->total, &node->carried, batch_of(c, level));
	}
}

int cf_tree_counter_add(struct cf_tree_counter *c, int64_t amount)
{
	uint32_t cpu;
	uint64_t total;
	int64_t carried, after;
	if (!cf_value_fits(amount))
		return -ERANGE;
	do {
		cpu = cf_cpu_current();
		total = cf_slot_word_load(&c->leaves[cpu]);
		carried = (int64_t)__atomic_load_n(&c->leaves[cpu].own[CARRIED], __ATOMIC_RELAXED); // relaxed: as claim
		// Only what goes up can bring the sum to its end: less than a batch stays behind.
		if (cf_value_distance((int64_t)total + amount, carried) >= (uint64_t)c->batch &&
		    !cf_value_add(cf_tree_counter_approximate(c), amount, &after))
			return -ERANGE;
	} while (cf_slot_replace_long(c->leaves, cpu, total, total + (uint64_t)amount) != CF_SLOT_DONE);
	if (cf_value_distance((int64_t)total + amount, carried) >= (uint64_t)c->batch)
		carry_up(c, cpu, claim((const int64_t *)&c->leaves[cpu].u.word,
				       (int64_t *)&c->leaves[cpu].own[CARRIED], c->batch));
	return 0;
}

int64_t cf_tree_counter_sum(const struct cf_tree_counter *c)
{
	uint64_t sum = 0;
	for (uint32_t cpu = 0; cpu < cf_cpu_count(); cpu++)
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
	for (uint32_t cpu = 0; cpu < cf_cpu_count(); cpu++) {
		__atomic_store_n(&c->leaves[cpu].u.word, cpu ? 0 : (uint64_t)value, __ATOMIC_RELAXED);
		__atomic_store_n(&c->leaves[cpu].own[CARRIED], cpu ? 0 : (uint64_t)value, __ATOMIC_RELAXED);
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
	uint32_t count = cf_cpu_count(), nodes = 0;
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
	if (!c || !cf_value_fits(value) || batch < 0)
		return -EINVAL;
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
