// SPDX-License-Identifier: MIT OR Apache-2.0
// The tree of pages. Its shape follows from the pages that are there, so that its charge does, too: as many levels as the
// highest page needs, and a node wherever a page is below.
#include "mapping.h"

#include <stdlib.h>
#include <string.h>

enum { NODE = 1, MASK = CF_MAPPING_FAN - 1 };

static struct cf_mapping_node *node_of(uintptr_t slot)
{
	return (struct cf_mapping_node *)(slot & ~(uintptr_t)NODE);
}

static uintptr_t *slot_of(struct cf_mapping_node *node, uint64_t index)
{
	enum { ON_A_LINE = CF_LINE / sizeof(uintptr_t), LINES = CF_MAPPING_FAN / ON_A_LINE };
	return &node->slots[index % LINES * ON_A_LINE + index / LINES];
}

static uintptr_t load(const uintptr_t *slot)
{
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE); // acquire: after the store that linked it
}

static void store(uintptr_t *slot, uintptr_t value)
{
	__atomic_store_n(slot, value, __ATOMIC_RELEASE); // release: what it leads to is complete
}

static bool is_within(const struct cf_mapping_node *node, int64_t index)
{
	return (uint64_t)index >> node->shift < CF_MAPPING_FAN;
}

struct cf_page *cf_mapping_page(const struct cf_mapping *m, int64_t index)
{
	uintptr_t at = load(&m->root);
	if (!(at & NODE))
		return index == 0 ? (struct cf_page *)at : NULL;
	if (!is_within(node_of(at), index))
		return NULL;
	while (at & NODE) {
		CF_TEST_POINT("mapping: in the tree");
		at = load(slot_of(node_of(at), (uint64_t)index >> node_of(at)->shift & MASK));
	}
	return (struct cf_page *)at;
}

static void free_page(struct cf_rcu_head *head)
{
	free((char *)head - offsetof(struct cf_page, rcu));
}

static void free_node(struct cf_rcu_head *head)
{
	free((char *)head - offsetof(struct cf_mapping_node, rcu));
}

static void uncharge(struct cf_mapping *m, int64_t bytes)
{
	if (m->space && bytes)
		(void)cf_space_return_blocks(m->space, bytes);
}

// Levels of a tree that reaches index: 0 for index 0.
static int levels_for(int64_t index)
{
	int levels = 0;
	while ((uint64_t)index >> CF_MAPPING_BITS * levels)
		levels++;
	return levels;
}

static int levels_of(const struct cf_mapping *m)
{
	return m->root & NODE ? (int)node_of(m->root)->shift / CF_MAPPING_BITS + 1 : 0;
}

// Nodes that the page needs and that are not there.
static int missing_nodes(const struct cf_mapping *m, int64_t index)
{
	int levels = levels_of(m), wanted = levels_for(index), missing = 0;
	uintptr_t at = m->root;
	if (!at)
		return wanted;
	if (wanted > levels) // new roots, and a path of its own below the new root
		return wanted - levels + (wanted - 1);
	while (at & NODE) {
		struct cf_mapping_node *node = node_of(at);
		at = *slot_of(node, (uint64_t)index >> node->shift & MASK);
		if (!at)
			missing = (int)node->shift / CF_MAPPING_BITS;
	}
	return missing;
}

static int allocate(struct cf_mapping_spare *spare)
{
	bool complete;
	spare->page = aligned_alloc(CF_LINE, sizeof *spare->page);
	complete = spare->page != NULL;
	for (int i = 0; i < spare->count; i++)
		complete &= (spare->nodes[i] = aligned_alloc(CF_LINE, sizeof *spare->nodes[i])) != NULL;
	if (complete) {
		for (int i = 0; i < spare->count; i++)
			*spare->nodes[i] = (struct cf_mapping_node){ .count = 0 };
		memset(spare->page, 0, sizeof *spare->page);
		return 0;
	}
	for (int i = 0; i < spare->count; i++)
		free(spare->nodes[i]);
	free(spare->page);
	return -ENOMEM;
}

int cf_mapping_prepare(struct cf_mapping *m, int64_t index, struct cf_mapping_spare *spare)
{
	int error;
	spare->count = missing_nodes(m, index);
	int64_t charge = CF_PAGE + (int64_t)spare->count * CF_CHARGE_NODE;
	error = m->space ? cf_space_take_blocks(m->space, charge, 0) : 0;
	if (!error && (error = allocate(spare)))
		uncharge(m, charge);
	return error;
}

static uintptr_t take(struct cf_mapping_spare *spare, int level)
{
	struct cf_mapping_node *node = spare->nodes[--spare->count];
	node->shift = (uint32_t)(level * CF_MAPPING_BITS);
	return (uintptr_t)node | NODE;
}

void cf_mapping_insert(struct cf_mapping *m, int64_t index, struct cf_mapping_spare *spare)
{
	int wanted = levels_for(index);
	uintptr_t *slot = &m->root;
	if (!m->root && wanted)
		store(&m->root, take(spare, wanted - 1));
	for (int levels = levels_of(m); levels < wanted; levels++) {
		uintptr_t root = take(spare, levels);
		*slot_of(node_of(root), 0) = m->root;
		node_of(root)->count = 1;
		store(&m->root, root);
	}
	while (*slot & NODE) {
		struct cf_mapping_node *node = node_of(*slot);
		slot = slot_of(node, (uint64_t)index >> node->shift & MASK);
		if (*slot)
			continue;
		node->count++;
		if (node->shift)
			store(slot, take(spare, (int)node->shift / CF_MAPPING_BITS - 1));
	}
	store(slot, (uintptr_t)spare->page);
}

static void mark_removed(struct cf_page *page)
{
	cf_page_lock(page);
	uint32_t seq = __atomic_load_n(&page->seq, __ATOMIC_RELAXED); // relaxed: we have locked it
	// Release: unlocks, and nobody locks it any more; who waits for it looks again in the tree. x86 cannot tell; aarch64 and
	// POWER may show the removed page before the changes of the one who had locked it.
	__atomic_store_n(&page->seq, (seq & ~(uint32_t)(CF_PAGE_LOCKED | CF_PAGE_WHOLE)) + (CF_PAGE_CHANGE | CF_PAGE_REMOVED), __ATOMIC_RELEASE);
}

// Out of the tree first, then to be freed: a reader that begins after the call must not find it.
static void cut(uintptr_t *slot)
{
	uintptr_t at = *slot;
	store(slot, 0);
	if (at & NODE)
		cf_rcu_call(&node_of(at)->rcu, free_node);
	else
		cf_rcu_call(&((struct cf_page *)at)->rcu, free_page);
}

// Removes pages from `first` on, counted from this subtree's beginning; true: nothing is left in it, and the caller cuts it.
static bool prune(uintptr_t at, int64_t first, int64_t *pages, int64_t *nodes)
{
	struct cf_mapping_node *node = node_of(at);
	if (!(at & NODE)) {
		mark_removed((struct cf_page *)at);
		++*pages;
		return true;
	}
	for (int i = (int)(first >> node->shift); i < CF_MAPPING_FAN; i++) {
		int64_t start = (int64_t)i << node->shift;
		if (!*slot_of(node, (uint64_t)i) || !prune(*slot_of(node, (uint64_t)i), first > start ? first - start : 0, pages, nodes))
			continue;
		cut(slot_of(node, (uint64_t)i));
		node->count--;
	}
	*nodes += !node->count;
	return !node->count;
}

int64_t cf_mapping_remove_from(struct cf_mapping *m, int64_t first)
{
	int64_t pages = 0, nodes = 0;
	if (!m->root || (m->root & NODE ? !is_within(node_of(m->root), first) : first > 0))
		return 0;
	if (prune(m->root, first, &pages, &nodes))
		cut(&m->root);
	while (m->root & NODE && node_of(m->root)->count == 1 && *slot_of(node_of(m->root), 0)) {
		struct cf_mapping_node *root = node_of(m->root);
		store(&m->root, *slot_of(root, 0));
		cf_rcu_call(&root->rcu, free_node);
		nodes++;
	}
	uncharge(m, pages * CF_PAGE + nodes * CF_CHARGE_NODE);
	return pages;
}

// The first page at or behind `index` below `at`, both counted from the subtree's beginning; -1: none.
static int64_t next_page(uintptr_t at, int64_t index)
{
	struct cf_mapping_node *node = node_of(at);
	if (!(at & NODE))
		return at && index == 0 ? 0 : -1;
	if (!is_within(node, index))
		return -1;
	for (int i = (int)(index >> node->shift); i < CF_MAPPING_FAN; i++) {
		int64_t start = (int64_t)i << node->shift, found;
		uintptr_t below = load(slot_of(node, (uint64_t)i));
		found = below ? next_page(below, index > start ? index - start : 0) : -1;
		if (found >= 0)
			return start + found;
	}
	return -1;
}

int64_t cf_mapping_next(struct cf_mapping *m, int64_t index, bool hole)
{
	cf_rcu_read_lock();
	if (hole)
		while (cf_mapping_page(m, index))
			index++;
	else
		index = next_page(load(&m->root), index);
	cf_rcu_read_unlock();
	return index;
}
