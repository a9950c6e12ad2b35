// SPDX-License-Identifier: MIT OR Apache-2.0
// One file system's caches: made, shrunk and taken apart.
#include "dentry.h"

#include <errno.h>

enum { FIXED_BUCKETS = 1 << 16 };

int cf_super_init(struct cf_super *s, const struct cf_super_options *options)
{
	const struct cf_lru_options lru = { CF_VFS_LOCK_KIND, !CF_VFS_PERCPU, !CF_VFS_DENTRIES_SPLIT };
	struct cf_rhash_options table = { .buckets = options->dentry_buckets };
	int result;
	if (!s || !CF_IS_ALIGNED(s))
		return -EINVAL;
	if (!CF_VFS_DENTRIES_SPLIT) { // as 2.6.35: a table of fixed size, under the dcache lock
		table.flags = CF_RHASH_EXTERNAL_LOCK;
		table.buckets = table.buckets ? table.buckets : FIXED_BUCKETS;
	}
	s->ops = options->ops;
	s->dentry_ops = options->dentry_ops;
	s->private_data = options->private_data;
	s->root = NULL;
	cf_vfs_lock_init(&s->dcache_lock);
	cf_vfs_lock_init(&s->rename_lock);
	cf_mutex_init(&s->rename_mutex);
	result = cf_lru_init(&s->unused, &lru);
	result = result ? result : cf_numbers_init(&s->salts);
	result = result ? result : cf_vfs_count_init(&s->dentries);
	result = result ? result : cf_rhash_init(&s->names, &table);
	return result ? result : cf_icache_init(&s->icache, options->icache_ops, s, options->inode_buckets);
}

// --- Shrinking.

// Under the list's lock.
static enum cf_lru_answer age__(struct cf_lru_list *list, struct cf_dentry *d)
{
	if (reference_count(&d->count) > 0) {
		CF_TEST_POINT("dentry: isolating");
		cf_lru_isolate__(list, &d->lru);
		if (reference_count(&d->count) <= 0) // invariant B
			cf_lru_restore__(&d->super->unused, list, &d->lru);
		return CF_LRU_GONE;
	}
	if (d->flags & CF_DENTRY_REFERENCED) {
		cf_dentry_set_flags__(d, 0, CF_DENTRY_REFERENCED);
		return CF_LRU_ROTATE;
	}
	return cf_dentry_kill__(d) ? CF_LRU_REMOVE : CF_LRU_KEEP;
}

static enum cf_lru_answer age(struct cf_lru_list *list, struct cf_lru_link *link, void *argument)
{
	struct cf_dentry *d = DENTRY_OF(link, lru);
	struct cf_lock_node node;
	enum cf_lru_answer answer;
	(void)argument;
	if (!cf_vfs_lock_try(&d->lock, &node))
		return CF_LRU_BUSY;
	answer = age__(list, d);
	cf_vfs_lock_drop(&d->lock, &node);
	return answer;
}

static size_t scan(struct cf_super *s, size_t most)
{
	struct cf_lru_link *gone = NULL;
	struct cf_lock_node node;
	size_t count;
	cf_dcache_lock(s, &node);
	count = cf_lru_scan(&s->unused, most, age, NULL, &gone);
	cf_dcache_unlock(s, &node);
	while (gone) {
		struct cf_dentry *d = DENTRY_OF(gone, lru);
		gone = gone->next;
		cf_dentry_put(cf_dentry_finish(d));
	}
	cf_rcu_relax();
	return count;
}

size_t cf_dcache_shrink(struct cf_super *s, size_t most)
{
	size_t count = scan(s, most);
	return count ? count : scan(s, most); // all had been used since: now they are old
}

size_t cf_dcache_unused(const struct cf_super *s)
{
	return cf_lru_count(&s->unused);
}

int64_t cf_dcache_count(struct cf_super *s)
{
	return cf_vfs_count_sum(&s->dentries);
}

static int destroy_names(struct cf_super *s)
{
	while (cf_dcache_shrink(s, SIZE_MAX))
		;
	if (cf_dcache_count(s) > (s->root != NULL) || (s->root && reference_count(&s->root->count) != 1))
		return -EBUSY;
	cf_dentry_put(s->root);
	s->root = NULL;
	return 0;
}

int cf_super_destroy(struct cf_super *s)
{
	int result = destroy_names(s);
	result = result ? result : cf_icache_destroy(&s->icache);
	if (result)
		return result;
	cf_rcu_barrier();
	cf_rhash_destroy(&s->names);
	cf_vfs_count_destroy(&s->dentries);
	cf_numbers_destroy(&s->salts);
	cf_lru_destroy(&s->unused);
	return 0;
}
