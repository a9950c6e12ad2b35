// SPDX-License-Identifier: MIT OR Apache-2.0
// Changes of a table, which lock buckets; resizes beside them, and their invariants: rhash_resize.c.
#include "rhash.h"

#include <errno.h>
#include <stdlib.h>

enum { DEFAULT_BUCKETS = 64, DEFAULT_MOST = 1 << 28 };

int cf_rhash_init(struct cf_rhash *h, const struct cf_rhash_options *options)
{
	static const struct cf_rhash_options DEFAULTS;
	int result;
	if (!h || !CF_IS_ALIGNED(h))
		return -EINVAL;
	options = options ? options : &DEFAULTS;
	h->flags = options->flags | (options->flags & CF_RHASH_EXTERNAL_LOCK ? CF_RHASH_NO_RESIZE : 0);
	h->most = options->most ? cf_rhash_size(options->most, DEFAULT_MOST) : DEFAULT_MOST;
	h->fewest = cf_rhash_size(options->buckets ? options->buckets : DEFAULT_BUCKETS, h->most);
	h->resizing = h->resizes = 0;
	result = cf_percpu_counter_init(&h->count, 0);
	if (result)
		return result;
	h->table = cf_rhash_new_table(h, h->fewest, 0);
	if (!h->table) {
		cf_percpu_counter_destroy(&h->count);
		return -ENOMEM;
	}
	cf_rhash_set_empty(h->table, 0, 1);
	return 0;
}

void cf_rhash_destroy(struct cf_rhash *h)
{
	// Acquire: after the callback of the last resize, which runs on another thread.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	while (__atomic_load_n(&h->resizing, __ATOMIC_ACQUIRE)) {
		cf_rhash_finish_resize(h);
		cf_rcu_barrier();
	}
	free(h->table);
	h->table = NULL;
	cf_percpu_counter_destroy(&h->count);
}

// --- One chain.

static bool find_before__(const struct cf_rhash_table *t, uint32_t bucket, entry_pointer e, entry_pointer *before)
{
	uintptr_t at;
	*before = NULL;
	while (!((at = after__(t, bucket, *before)) & CF_RHASH_END)) {
		if ((entry_pointer)at == e)
			return true;
		*before = (entry_pointer)at;
	}
	return false;
}

// --- A key's bucket, or two of them in the midst of a resize.

struct place {
	struct cf_rhash_table *table[2];
	uint32_t bucket[2];
	int count;
};

// In a read section, which keeps the tables.
static void lock_place(struct cf_rhash *h, uint32_t value, struct place *p)
{
	struct cf_rhash_table *t = cf_rhash_table_of(h);
	p->table[0] = t;
	p->bucket[0] = value & t->mask;
	p->count = 1;
	lock_bucket(h, cf_rhash_bucket(t, p->bucket[0]));
	if (word_of(t, p->bucket[0]) & CF_RHASH_MOVED) { // invariant A
		p->table[1] = t->successor;
		p->bucket[1] = value & p->table[1]->mask;
		p->count = 2;
		lock_bucket(h, cf_rhash_bucket(p->table[1], p->bucket[1]));
	}
}

static void unlock_place(struct cf_rhash *h, struct place *p)
{
	for (int i = p->count; i-- > 0;)
		unlock_bucket(h, cf_rhash_bucket(p->table[i], p->bucket[i]));
}

static entry_pointer same_in__(const struct place *p, uint32_t value, cf_rhash_same *same, const void *key, int *length)
{
	int last = p->count - 1;
	entry_pointer e = NULL;
	uintptr_t at;
	for (*length = 0; !((at = after__(p->table[last], p->bucket[last], e)) & CF_RHASH_END); ++*length) {
		e = (entry_pointer)at;
		if (e->hash == value && same(e, key))
			return e;
	}
	return NULL;
}

// --- Changes.

static void insert__(struct place *p, entry_pointer e)
{
	for (int i = p->count; i-- > 0;)
		push__(p->table[i], p->bucket[i], e);
}

entry_pointer cf_rhash_insert_unique(struct cf_rhash *h, entry_pointer e, uint32_t value, cf_rhash_same *same,
				     const void *key)
{
	struct place p;
	entry_pointer there = NULL;
	int length = 0;
	__atomic_store_n(&e->hash, value, __ATOMIC_RELAXED); // relaxed: published by the link
	cf_rcu_read_lock();
	lock_place(h, value, &p);
	if (same)
		there = same_in__(&p, value, same, key, &length);
	if (!there)
		insert__(&p, e);
	unlock_place(h, &p);
	if (!there)
		cf_rhash_inserted(h, p.table[0], value, length);
	cf_rcu_read_unlock();
	return there;
}

void cf_rhash_insert(struct cf_rhash *h, entry_pointer e, uint32_t value)
{
	cf_rhash_insert_unique(h, e, value, NULL, NULL);
}

// Takes the entry out of its chains, and `fresh` takes its place if there is one.
static bool unlink_or_replace(struct cf_rhash *h, entry_pointer e, entry_pointer fresh)
{
	struct place p;
	bool found = false;
	cf_rcu_read_lock();
	lock_place(h, e->hash, &p);
	for (int i = 0; i < p.count; i++) {
		struct cf_rhash_table *t = p.table[i];
		entry_pointer before;
		found = find_before__(t, p.bucket[i], e, &before);
		if (!found)
			continue;
		if (fresh)
			fresh->next[t->link] = after__(t, p.bucket[i], e);
		link_after__(t, p.bucket[i], before, fresh ? (uintptr_t)fresh : after__(t, p.bucket[i], e));
	}
	unlock_place(h, &p);
	if (found && !fresh)
		cf_rhash_removed(h, p.table[0], e->hash);
	cf_rcu_read_unlock();
	return found;
}

bool cf_rhash_remove(struct cf_rhash *h, entry_pointer e)
{
	return unlink_or_replace(h, e, NULL);
}

bool cf_rhash_replace(struct cf_rhash *h, entry_pointer old, entry_pointer fresh)
{
	fresh->hash = old->hash;
	return unlink_or_replace(h, old, fresh);
}

bool cf_rhash_move(struct cf_rhash *h, entry_pointer e, uint32_t value, void (*change)(entry_pointer, void *),
		   void *argument)
{
	if (!cf_rhash_remove(h, e))
		return false;
	CF_TEST_POINT("rhash: between chains");
	change(e, argument);
	cf_rhash_insert(h, e, value);
	return true;
}

// --- All of it.

static bool visit_bucket(const struct cf_rhash_table *t, uint32_t bucket, bool (*visit)(entry_pointer, void *), void *argument)
{
	uintptr_t at;
	do {
		at = cf_rhash_first(t, bucket);
		while (!(at & CF_RHASH_END)) {
			entry_pointer e = (entry_pointer)at;
			if (!visit(e, argument))
				return false;
			at = cf_rhash_next(t, e);
		}
	} while (at != cf_rhash_end_of(bucket));
	return true;
}

void cf_rhash_for_each(struct cf_rhash *h, bool (*visit)(entry_pointer entry, void *argument), void *argument)
{
	const struct cf_rhash_table *t;
	bool more = true;
	cf_rhash_exclude_resizes(h); // an entry that comes late into a bucket that was visited would be missed
	t = h->table;
	for (uint32_t bucket = 0; more && bucket <= t->mask; bucket++) {
		cf_rcu_read_lock();
		more = visit_bucket(t, bucket, visit, argument);
		cf_rcu_read_unlock();
	}
	// Release: pairs with the next resize's acquire.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&h->resizing, 0, __ATOMIC_RELEASE);
	(void)cf_rhash_maintain(h); // what was inserted meanwhile
}
