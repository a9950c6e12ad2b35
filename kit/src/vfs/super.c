// SPDX-License-Identifier: MIT OR Apache-2.0
// One file system's caches: made, shrunk and taken apart.
#include "dentry.h"

#include <errno.h>

enum { FIXED_BUCKETS = 1 << 16 };

// What was not made is zeroed: destroying it is harmless.
static void destroy_parts(struct cf_super *s)
{
	cf_rhash_destroy(&s->names);
	cf_vfs_count_destroy(&s->dentries);
	cf_numbers_destroy(&s->salts);
	cf_lru_destroy(&s->unused);
	(void)cf_slab_destroy(&s->memory);
}

int cf_super_init(struct cf_super *s, const struct cf_super_options *options)
{
	const struct cf_lru_options lru = { CF_VFS_LOCK_KIND, !CF_VFS_PERCPU, !CF_VFS_DENTRIES_SPLIT };
	const struct cf_slab_options memory = { .name = "cf_dentry", .size = sizeof(struct cf_dentry), .align = CF_LINE };
	struct cf_rhash_options table = { .buckets = options->dentry_buckets };
	int result;
	if (!s || !CF_IS_ALIGNED(s))
		return -EINVAL;
	if (!CF_VFS_DENTRIES_SPLIT) { // as 2.6.35: a table of fixed size, under the dcache lock
		table.flags = CF_RHASH_EXTERNAL_LOCK;
		table.buckets = table.buckets ? table.buckets : FIXED_BUCKETS;
	}
	*s = (struct cf_super){ .ops = options->ops, .dentry_ops = options->dentry_ops, .private_data = options->private_data };
	cf_vfs_lock_init(&s->dcache_lock);
	cf_vfs_lock_init(&s->rename_lock);
	cf_mutex_init(&s->rename_mutex);
	result = cf_slab_init(&s->memory, &memory);
	result = result ? result : cf_lru_init(&s->unused, &lru);
	result = result ? result : cf_numbers_init(&s->salts);
	result = result ? result : cf_vfs_count_init(&s->dentries);
	result = result ? result : cf_rhash_init(&s->names, &table);
	result = result ? result : cf_icache_init(&s->icache, options->icache_ops, s, options->inode_buckets);
	if (result)
		destroy_parts(s);
	return result;
}

// --- Shrinking.

// Under the list's lock. Charges go back before what is on the list can be seen to be less.
static enum cf_lru_answer isolate__(struct cf_lru_list *list, struct cf_dentry *d)
{
	CF_TEST_POINT("dentry: isolating");
	cf_lru_isolate__(&d->lru);
	CF_TEST_POINT("dentry: isolated");
	if (reference_count(&d->count) <= 0) { // invariant B
		cf_lru_restore__(&d->super->unused, list, &d->lru);
		return CF_LRU_BUSY;
	}
	cf_dentry_uncharge__(d);
	return CF_LRU_GONE;
}

static enum cf_lru_answer kill__(struct cf_dentry *d)
{
	if (!cf_dentry_kill__(d)) // somebody has just taken a reference
		return CF_LRU_BUSY;
	cf_dentry_uncharge__(d);
	return CF_LRU_REMOVE;
}

static enum cf_lru_answer age__(struct cf_lru_list *list, struct cf_dentry *d)
{
	if (reference_count(&d->count) > 0)
		return isolate__(list, d);
	if (d->flags & CF_DENTRY_REFERENCED) {
		cf_dentry_set_flags__(d, 0, CF_DENTRY_REFERENCED);
		return CF_LRU_ROTATE;
	}
	return kill__(d);
}

// What a scan has met, for those who want charges back.
struct progress {
	bool freed, busy;
};

// `progress` may be null.
static enum cf_lru_answer age(struct cf_lru_list *list, struct cf_lru_link *link, void *progress)
{
	struct cf_dentry *d = DENTRY_OF(link, lru);
	struct progress *p = progress;
	struct cf_lock_node node;
	enum cf_lru_answer answer = CF_LRU_BUSY;
	if (cf_vfs_lock_try(&d->lock, &node)) {
		answer = age__(list, d);
		cf_vfs_lock_drop(&d->lock, &node);
	}
	if (p) {
		p->freed |= answer == CF_LRU_REMOVE || answer == CF_LRU_GONE;
		p->busy |= answer == CF_LRU_BUSY;
	}
	return answer;
}

struct removal {
	struct cf_dentry *removed;
	bool busy; // the lock of one of its names was taken, or a reference was taken meanwhile
};

// Only a removed directory's names, however young.
static enum cf_lru_answer drop_name(struct cf_lru_list *list, struct cf_lru_link *link, void *argument)
{
	struct cf_dentry *d = DENTRY_OF(link, lru);
	struct removal *r = argument;
	struct cf_lock_node node;
	enum cf_lru_answer answer = CF_LRU_BUSY;
	(void)list;
	// A name with a reference goes at its last put, which counts to 0 and then sees REMOVED: worth_keeping.
	if (cf_dentry_parent(d) != r->removed || reference_count(&d->count) > 0)
		return CF_LRU_KEEP;
	if (cf_vfs_lock_try(&d->lock, &node)) {
		answer = kill__(d);
		cf_vfs_lock_drop(&d->lock, &node);
	}
	r->busy |= answer == CF_LRU_BUSY;
	return answer;
}

static size_t scan(struct cf_super *s, size_t most, cf_lru_callback *callback, void *argument)
{
	struct cf_lru_link *gone = NULL;
	struct cf_lock_node node;
	size_t count;
	cf_dcache_lock(s, &node);
	count = cf_lru_scan(&s->unused, most, callback, argument, &gone);
	cf_dcache_unlock(s, &node);
	while (gone) {
		struct cf_dentry *d = DENTRY_OF(gone, lru);
		gone = gone->next;
		cf_dentry_put(cf_dentry_finish(d));
	}
	return count;
}

size_t cf_dcache_shrink(struct cf_super *s, size_t most)
{
	size_t count = scan(s, most, age, NULL);
	count = count ? count : scan(s, most, age, NULL); // all had been used since: now they are old
	cf_rcu_relax();
	return count;
}

bool cf_dcache_reclaim(struct cf_super *s, size_t most)
{
	struct progress p = { false, false };
	(void)scan(s, most, age, &p);
	if (!p.freed)
		(void)scan(s, most, age, &p); // as above
	if (!p.freed && p.busy) {
		CF_TEST_POINT("dcache: busy");
		CF_LOCK_REST();
	}
	return p.freed || p.busy;
}

void cf_dentry_drop_names(struct cf_dentry *removed)
{
	struct cf_dentry_locked l;
	struct removal r = { removed, false };
	cf_dentry_lock(removed, &l);
	// Sequentially consistent: before counts and lists are looked at. A put counts and lists first, and looks then (unused__ and
	// invariant B); one of the two sees the other.
	cf_dentry_set_flags__(removed, CF_DENTRY_REMOVED, 0);
	cf_dentry_unlock(removed, &l);
	if (reference_count(&removed->count) <= 1) // no name has a reference, nor has anybody else
		return;
	(void)scan(removed->super, SIZE_MAX, drop_name, &r);
	while (r.busy) { // its put may have looked at REMOVED before that was set, and not have dropped the lock yet
		CF_LOCK_REST();
		r.busy = false;
		(void)scan(removed->super, SIZE_MAX, drop_name, &r);
	}
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
	destroy_parts(s);
	return 0;
}
