// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_rmap.h>

void cf_rmap_init(struct cf_rmap *rmap)
{
	cf_rwsem_init(&rmap->sem);
	rmap->root = NULL;
	rmap->random = 0;
}

// By the first page; those of one first page by address.
static bool is_before(const struct cf_rmap_interval *a, const struct cf_rmap_interval *b)
{
	return a->first != b->first ? a->first < b->first : (uintptr_t)a < (uintptr_t)b;
}

static void find_highest(struct cf_rmap_interval *i)
{
	i->highest = i->last;
	if (i->left && i->left->highest > i->highest)
		i->highest = i->left->highest;
	if (i->right && i->right->highest > i->highest)
		i->highest = i->right->highest;
}

// A subtree into what is before `at` and what is behind.
static void split(struct cf_rmap_interval *i, const struct cf_rmap_interval *at, struct cf_rmap_interval **before,
		  struct cf_rmap_interval **behind)
{
	if (!i) {
		*before = *behind = NULL;
		return;
	}
	if (is_before(i, at)) {
		split(i->right, at, &i->right, behind);
		*before = i;
	} else {
		split(i->left, at, before, &i->left);
		*behind = i;
	}
	find_highest(i);
}

static struct cf_rmap_interval *merge(struct cf_rmap_interval *before, struct cf_rmap_interval *behind)
{
	if (!before || !behind)
		return before ? before : behind;
	if (before->priority > behind->priority) {
		before->right = merge(before->right, behind);
		find_highest(before);
		return before;
	}
	behind->left = merge(before, behind->left);
	find_highest(behind);
	return behind;
}

static struct cf_rmap_interval *add__(struct cf_rmap_interval *root, struct cf_rmap_interval *i)
{
	if (!root || root->priority < i->priority) {
		split(root, i, &i->left, &i->right);
		root = i;
	} else if (is_before(i, root)) {
		root->left = add__(root->left, i);
	} else {
		root->right = add__(root->right, i);
	}
	find_highest(root);
	return root;
}

static struct cf_rmap_interval *remove__(struct cf_rmap_interval *root, struct cf_rmap_interval *i)
{
	if (root == i)
		return merge(i->left, i->right);
	if (is_before(i, root))
		root->left = remove__(root->left, i);
	else
		root->right = remove__(root->right, i);
	find_highest(root);
	return root;
}

int cf_rmap_add(struct cf_rmap *rmap, struct cf_rmap_interval *i)
{
	if (i->last < i->first)
		return -EINVAL;
	cf_rwsem_write_lock(&rmap->sem);
	rmap->random = rmap->random * 6364136223846793005u + 1442695040888963407u;
	i->priority = rmap->random >> 16;
	i->left = i->right = NULL;
	rmap->root = add__(rmap->root, i);
	cf_rwsem_write_unlock(&rmap->sem);
	return 0;
}

void cf_rmap_remove(struct cf_rmap *rmap, struct cf_rmap_interval *i)
{
	cf_rwsem_write_lock(&rmap->sem);
	rmap->root = remove__(rmap->root, i);
	cf_rwsem_write_unlock(&rmap->sem);
}

struct range {
	int64_t first, last;
	bool (*visit)(struct cf_rmap_interval *interval, void *argument);
	void *argument;
};

static bool visit__(struct cf_rmap_interval *i, const struct range *r)
{
	if (!i || i->highest < r->first)
		return true;
	if (!visit__(i->left, r))
		return false;
	if (i->first > r->last)
		return true; // and so is all to the right
	if (i->last >= r->first && !r->visit(i, r->argument))
		return false;
	return visit__(i->right, r);
}

void cf_rmap_visit(struct cf_rmap *rmap, int64_t first, int64_t last,
		   bool (*visit)(struct cf_rmap_interval *interval, void *argument), void *argument)
{
	struct range range = { first, last, visit, argument };
	cf_rwsem_read_lock(&rmap->sem);
	visit__(rmap->root, &range);
	cf_rwsem_read_unlock(&rmap->sem);
}
