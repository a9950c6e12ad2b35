// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_counter.h>

#include "section.h"

static const char *const names[CF_COUNTER_KINDS] = {
	[CF_COUNTER_GLOBAL] = "global",
	[CF_COUNTER_PERCPU] = "percpu",
	[CF_COUNTER_PERCPU_LIMIT] = "limit",
	[CF_COUNTER_ADAPTIVE] = "adaptive",
	[CF_COUNTER_TREE] = "tree",
};

const char *cf_counter_kind_name(enum cf_counter_kind kind)
{
	return (unsigned)kind < CF_COUNTER_KINDS ? names[kind] : NULL;
}

static int init_percpu(struct cf_counter *c, int64_t value, const struct cf_counter_options *options)
{
	const struct cf_percpu_options percpu = { options->batch, options->many_cpus, options->lock };
	int result = cf_percpu_counter_init_with(&c->u.percpu, value, &percpu);
	if (result == 0 && c->kind == CF_COUNTER_PERCPU_LIMIT && value != 0) {
		result = cf_percpu_counter_set_limit(&c->u.percpu, options->percpu_limit);
		if (result < 0)
			cf_percpu_counter_destroy(&c->u.percpu);
	}
	return result < 0 ? result : 0;
}

int cf_counter_init(struct cf_counter *c, enum cf_counter_kind kind, int64_t value,
		    const struct cf_counter_options *options)
{
	static const struct cf_counter_options defaults;
	if (!c || !CF_IS_ALIGNED(c))
		return -EINVAL;
	c->kind = kind;
	cf_lock_init(&c->lock, CF_LOCK_QUEUED);
	options = options ? options : &defaults;
	switch (kind) {
	case CF_COUNTER_GLOBAL:
		return cf_global_counter_init(&c->u.global, value);
	case CF_COUNTER_PERCPU:
	case CF_COUNTER_PERCPU_LIMIT:
		return init_percpu(c, value, options);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_init(&c->u.adaptive, value, options->cap_max);
	case CF_COUNTER_TREE:
		return cf_tree_counter_init(&c->u.tree, value, options->batch);
	default:
		return -EINVAL;
	}
}

void cf_counter_destroy(struct cf_counter *c)
{
	if (!c)
		return;
	if (c->kind == CF_COUNTER_PERCPU || c->kind == CF_COUNTER_PERCPU_LIMIT)
		cf_percpu_counter_destroy(&c->u.percpu);
	else if (c->kind == CF_COUNTER_ADAPTIVE)
		cf_adaptive_counter_destroy(&c->u.adaptive);
	else if (c->kind == CF_COUNTER_TREE)
		cf_tree_counter_destroy(&c->u.tree);
}

int cf_counter_add(struct cf_counter *c, int64_t amount)
{
	switch (c->kind) {
	case CF_COUNTER_GLOBAL:
		return cf_global_counter_add(&c->u.global, amount);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_add(&c->u.adaptive, amount);
	case CF_COUNTER_TREE:
		return cf_tree_counter_add(&c->u.tree, amount);
	default:
		return cf_percpu_counter_add(&c->u.percpu, amount);
	}
}

// The tree has no limited add of its own. Under a lock the value changes only away from the limit while the leaves are
// summed: a sum that suffices still does, and one that does not, did not when it began. Its bounds cannot decide: an
// adder that stands still with a carry in hand is outside of them.
static int tree_limited_add(struct cf_counter *c, int64_t limit, int64_t amount)
{
	struct cf_lock_node node;
	int64_t after;
	int result;
	if (!cf_value_fits(amount))
		return -ERANGE;
	if (!cf_section_begin(&c->lock, &node))
		return -EDEADLK;
	after = cf_tree_counter_sum(&c->u.tree) + amount;
	result = (amount < 0 && after < limit) || (amount > 0 && after > limit) ? -ENOSPC :
										  cf_tree_counter_add(&c->u.tree, amount);
	cf_section_end(&c->lock, &node);
	return result;
}

int cf_counter_limited_add(struct cf_counter *c, int64_t limit, int64_t amount)
{
	switch (c->kind) {
	case CF_COUNTER_GLOBAL:
		return cf_global_counter_limited_add(&c->u.global, limit, amount);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_limited_add(&c->u.adaptive, limit, amount);
	case CF_COUNTER_TREE:
		return tree_limited_add(c, limit, amount);
	default:
		return cf_percpu_counter_limited_add(&c->u.percpu, limit, amount);
	}
}

int64_t cf_counter_read(const struct cf_counter *c)
{
	switch (c->kind) {
	case CF_COUNTER_GLOBAL:
		return cf_global_counter_read(&c->u.global);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_read(&c->u.adaptive);
	case CF_COUNTER_TREE:
		return cf_tree_counter_approximate(&c->u.tree);
	default:
		return cf_percpu_counter_read(&c->u.percpu);
	}
}

int64_t cf_counter_sum(struct cf_counter *c)
{
	switch (c->kind) {
	case CF_COUNTER_GLOBAL:
		return cf_global_counter_read(&c->u.global);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_sum(&c->u.adaptive);
	case CF_COUNTER_TREE:
		return cf_tree_counter_sum(&c->u.tree);
	default:
		return cf_percpu_counter_sum(&c->u.percpu);
	}
}

int cf_counter_compare(struct cf_counter *c, int64_t rhs)
{
	switch (c->kind) {
	case CF_COUNTER_GLOBAL:
		return cf_value_order(cf_global_counter_read(&c->u.global), rhs);
	case CF_COUNTER_ADAPTIVE:
		return cf_adaptive_counter_compare(&c->u.adaptive, rhs);
	case CF_COUNTER_TREE:
		return cf_tree_counter_compare(&c->u.tree, rhs);
	default:
		return cf_percpu_counter_compare(&c->u.percpu, rhs);
	}
}
