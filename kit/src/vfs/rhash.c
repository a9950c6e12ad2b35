// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A resize links every entry into the new table through its other next[], bucket by bucket, and marks the old bucket MOVED.
 * Invariants:
 *   A. Changes of a key lock its bucket in the table they have found; if it says MOVED, also its bucket in the successor,
 *      and change both. The successor's chain decides then, else the only one there is.
 *   B. Between "table = successor" and the end of the grace period, changes that found the new table leave the old chains
 *      as they are: only read sections that began before have these, and to them what is removed meanwhile still exists.
 *   C. next[] of the old table is used again only after that grace period (`resizing`).
 */
#include <corefold/cf_rhash.h>

#include <errno.h>
#include <stdlib.h>

enum { DEFAULT_BUCKETS = 64, DEFAULT_MOST = 1 << 28, LONG_CHAIN = 6, SHRINK_AT = 8, SHRINK_LOOKS = 64 };

typedef struct cf_rhash_entry *entry_pointer;

static struct cf_rhash_table *new_table(struct cf_rhash *h, uint32_t buckets, uint32_t link)
{
	struct cf_rhash_table *t = malloc(sizeof *t + (size_t)buckets * sizeof(uintptr_t));
	if (!t)
		return NULL;
	t->mask = buckets - 1;
	t->link = link;
	t->successor = NULL;
	t->owner = h;
	for (uint32_t i = 0; i < buckets; i++)
		*cf_rhash_bucket(t, i) = cf_rhash_end_of(i);
	return t;
}

static uint32_t power_of_two(uint64_t at_least, uint32_t most)
{
	uint64_t size = 1;
	while (size < at_least && size < most)
		size *= 2;
	return (uint32_t)size;
}

int cf_rhash_init(struct cf_rhash *h, const struct cf_rhash_options *options)
{
	int result;
	if (!h || !CF_IS_ALIGNED(h))
		return -EINVAL;
	h->flags = options->flags | (options->flags & CF_RHASH_EXTERNAL_LOCK ? CF_RHASH_NO_RESIZE : 0);
	h->most = options->most ? power_of_two(options->most, DEFAULT_MOST) : DEFAULT_MOST;
	h->fewest = power_of_two(options->buckets ? options->buckets : DEFAULT_BUCKETS, h->most);
	h->resizing = h->resizes = 0;
	result = cf_percpu_counter_init(&h->count, 0);
	if (result)
		return result;
	h->table = new_table(h, h->fewest, 0);
	if (!h->table) {
		cf_percpu_counter_destroy(&h->count);
		return -ENOMEM;
	}
	return 0;
}

void cf_rhash_destroy(struct cf_rhash *h)
{
	// Acquire: after the callback of the last resize, which runs on another thread.
	while (__atomic_load_n(&h->resizing, __ATOMIC_ACQUIRE))
		cf_rcu_barrier();
	free(h->table);
	h->table = NULL;
	cf_percpu_counter_destroy(&h->count);
}

// --- One bucket. The holder of its lock is the only one who writes its word and its chain.

// Relaxed: under the lock, where others only fail to take it.
static uintptr_t word_of(const struct cf_rhash_table *t, uint32_t bucket)
{
	return __atomic_load_n(cf_rhash_bucket(t, bucket), __ATOMIC_RELAXED);
}

static bool try_lock(uintptr_t *bucket)
{
	uintptr_t word = __atomic_load_n(bucket, __ATOMIC_RELAXED); // relaxed: the exchange decides
	// Acquire: after the last holder's release in unlock_bucket.
	return !(word & CF_RHASH_LOCKED) &&
	       __atomic_compare_exchange_n(bucket, &word, word | CF_RHASH_LOCKED, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void lock_bucket(const struct cf_rhash *h, uintptr_t *bucket)
{
	if (!(h->flags & CF_RHASH_EXTERNAL_LOCK))
		CF_LOCK_WAIT_UNTIL(try_lock(bucket));
}

static void unlock_bucket(const struct cf_rhash *h, uintptr_t *bucket)
{
	uintptr_t word = __atomic_load_n(bucket, __ATOMIC_RELAXED); // relaxed: only we write
	if (!(h->flags & CF_RHASH_EXTERNAL_LOCK))
		__atomic_store_n(bucket, word & ~(uintptr_t)CF_RHASH_LOCKED, __ATOMIC_RELEASE); // release: pairs with try_lock
}

// What comes first or next in the chain of which the lock is held.
static uintptr_t after__(const struct cf_rhash_table *t, uint32_t bucket, entry_pointer before)
{
	// Relaxed: under the lock.
	return before ? __atomic_load_n(&before->next[t->link], __ATOMIC_RELAXED) :
			word_of(t, bucket) & ~(uintptr_t)CF_RHASH_BITS;
}

static void link_after__(struct cf_rhash_table *t, uint32_t bucket, entry_pointer before, uintptr_t to)
{
	// Release: what was stored in the entry, its own link included, before readers find it.
	if (before)
		__atomic_store_n(&before->next[t->link], to, __ATOMIC_RELEASE);
	else
		__atomic_store_n(cf_rhash_bucket(t, bucket), (word_of(t, bucket) & CF_RHASH_BITS) | to, __ATOMIC_RELEASE);
}

// Always at the head: who is led from another chain into this one by an entry that moved here sees all of the rest.
static void push__(struct cf_rhash_table *t, uint32_t bucket, entry_pointer e)
{
	// Release: readers that stand on an entry that is moved follow this link.
	__atomic_store_n(&e->next[t->link], after__(t, bucket, NULL), __ATOMIC_RELEASE);
	CF_TEST_POINT("rhash: linking");
	link_after__(t, bucket, NULL, (uintptr_t)e);
}

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

// --- Resizing.

static void resized(struct cf_rcu_head *head)
{
	struct cf_rhash_table *old = (struct cf_rhash_table *)((char *)head - offsetof(struct cf_rhash_table, rcu));
	struct cf_rhash *h = old->owner;
	free(old);
	// Release: the grace period before the next resize, which uses the links again (invariant C).
	__atomic_store_n(&h->resizing, 0, __ATOMIC_RELEASE);
}

static void move_bucket(struct cf_rhash *h, struct cf_rhash_table *old, struct cf_rhash_table *fresh, uint32_t bucket)
{
	uintptr_t at;
	lock_bucket(h, cf_rhash_bucket(old, bucket));
	for (entry_pointer e = NULL; !((at = after__(old, bucket, e)) & CF_RHASH_END);) {
		uint32_t to;
		e = (entry_pointer)at;
		to = e->hash & fresh->mask;
		lock_bucket(h, cf_rhash_bucket(fresh, to));
		push__(fresh, to, e);
		unlock_bucket(h, cf_rhash_bucket(fresh, to));
	}
	// Relaxed: under the lock.
	__atomic_store_n(cf_rhash_bucket(old, bucket), word_of(old, bucket) | CF_RHASH_MOVED, __ATOMIC_RELAXED);
	CF_TEST_POINT("rhash: moved");
	unlock_bucket(h, cf_rhash_bucket(old, bucket));
}

static bool begin_resize(struct cf_rhash *h)
{
	// Relaxed look first: the line stays shared while a resize goes on. Acquire: pairs with `resized`.
	return !__atomic_load_n(&h->resizing, __ATOMIC_RELAXED) && !__atomic_exchange_n(&h->resizing, 1, __ATOMIC_ACQUIRE);
}

static bool resize(struct cf_rhash *h, uint32_t buckets)
{
	struct cf_rhash_table *old, *fresh;
	if (!begin_resize(h))
		return false;
	old = h->table;
	fresh = old->mask + 1 == buckets ? NULL : new_table(h, buckets, !old->link);
	if (!fresh) {
		__atomic_store_n(&h->resizing, 0, __ATOMIC_RELEASE); // release: as in `resized`
		return false;
	}
	old->successor = fresh; // seen by whoever sees MOVED: the bucket's lock
	for (uint32_t bucket = 0; bucket <= old->mask; bucket++)
		move_bucket(h, old, fresh, bucket);
	CF_TEST_POINT("rhash: all moved");
	h->resizes++;
	cf_rcu_assign(h->table, fresh);
	cf_rcu_call_soon(&old->rcu, resized);
	return true;
}

// How many buckets there should be; the same number if all is well.
static uint32_t wanted(struct cf_rhash *h, uint32_t buckets)
{
	int64_t count = cf_percpu_counter_sum_positive(&h->count);
	if (count > buckets || (count < buckets / SHRINK_AT && buckets > h->fewest)) {
		uint32_t size = power_of_two((uint64_t)count * 2, h->most);
		return size > h->fewest ? size : h->fewest;
	}
	return buckets;
}

bool cf_rhash_maintain(struct cf_rhash *h)
{
	uint32_t buckets = cf_rhash_buckets(h), should;
	// Relaxed: a hint. No sum while a resize is under way: until its end every change asks for one.
	if ((h->flags & CF_RHASH_NO_RESIZE) || __atomic_load_n(&h->resizing, __ATOMIC_RELAXED))
		return false;
	should = wanted(h, buckets);
	return should != buckets && resize(h, should);
}

static void counted(struct cf_rhash *h, const struct cf_rhash_table *t, int length)
{
	if (h->flags & CF_RHASH_NO_RESIZE)
		return;
	(void)cf_percpu_counter_add(&h->count, 1); // cannot fail: there is no memory for so many entries
	if (length >= LONG_CHAIN || cf_percpu_counter_read(&h->count) > t->mask)
		cf_rhash_maintain(h);
}

// A sum reads a line of each CPU: one key in 64 asks for it.
static void discounted(struct cf_rhash *h, const struct cf_rhash_table *t, uint32_t value)
{
	if (h->flags & CF_RHASH_NO_RESIZE)
		return;
	(void)cf_percpu_counter_add(&h->count, -1);
	if (t->mask >= h->fewest && value % SHRINK_LOOKS == 0 &&
	    cf_percpu_counter_read(&h->count) < (int64_t)(t->mask + 1) / SHRINK_AT)
		cf_rhash_maintain(h);
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
		counted(h, p.table[p.count - 1], length);
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
		discounted(h, p.table[p.count - 1], e->hash);
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
	// No resize meanwhile: an entry that comes late into a bucket that was visited would be missed.
	CF_LOCK_WAIT_UNTIL(begin_resize(h));
	t = h->table;
	for (uint32_t bucket = 0; more && bucket <= t->mask; bucket++) {
		cf_rcu_read_lock();
		more = visit_bucket(t, bucket, visit, argument);
		cf_rcu_read_unlock();
	}
	__atomic_store_n(&h->resizing, 0, __ATOMIC_RELEASE); // release: as in `resized`
}
