// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A resize links every entry into the new table through its other next[], bucket by bucket, and marks the old bucket MOVED.
 * Whoever changes the table meanwhile moves a few buckets, so that no call waits for a whole resize, under whatever locks its
 * caller has. The last one puts the new table in the old one's place. Invariants:
 *   A. Changes of a key lock its bucket in the table they have found; if it says MOVED, also its bucket in the successor,
 *      and change both. The successor's chain decides then, else the only one there is.
 *   B. Between "table = successor" and the end of the grace period, changes that found the new table leave the old chains
 *      as they are: only read sections that began before have these, and to them what is removed meanwhile still exists.
 *   C. next[] of the old table, `claimed` and `moved` are used again only after that grace period (`resizing`).
 */
#include "rhash.h"

#include <stdlib.h>

enum { LONG_CHAIN = 6, SHRINK_AT = 8, LOOKS = 64, PART = 16 };

// Buckets are empty, or in a larger successor not set yet: each is when the old one that leads to it moves.
struct cf_rhash_table *cf_rhash_new_table(struct cf_rhash *h, uint32_t buckets, uint32_t link)
{
	size_t bytes = sizeof(struct cf_rhash_table) + (size_t)buckets * sizeof(uintptr_t);
	struct cf_rhash_table *t = aligned_alloc(CF_LINE, (bytes + CF_LINE - 1) / CF_LINE * CF_LINE);
	if (t)
		*t = (struct cf_rhash_table){ .mask = buckets - 1, .link = link, .owner = h };
	return t;
}

void cf_rhash_set_empty(struct cf_rhash_table *t, uint32_t first, uint32_t step)
{
	for (uint64_t i = first; i <= t->mask; i += step)
		*cf_rhash_bucket(t, (uint32_t)i) = cf_rhash_end_of((uint32_t)i);
}

// How many buckets there should be; the same number if all is well.
static uint32_t wanted(struct cf_rhash *h, uint32_t buckets)
{
	int64_t count = cf_percpu_counter_sum_positive(&h->count);
	if (count > buckets || (count < buckets / SHRINK_AT && buckets > h->fewest)) {
		uint32_t size = cf_rhash_size((uint64_t)count * 2, h->most);
		return size > h->fewest ? size : h->fewest;
	}
	return buckets;
}

// --- A resize, in parts.

static bool begin_resize(struct cf_rhash *h)
{
	// Relaxed look first: the line stays shared while a resize goes on. Acquire: pairs with `resized`.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	return !__atomic_load_n(&h->resizing, __ATOMIC_RELAXED) && !__atomic_exchange_n(&h->resizing, 1, __ATOMIC_ACQUIRE);
}

static void end_resize(struct cf_rhash *h)
{
	// Release: the grace period before the next resize, which uses the links again (invariant C).
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&h->resizing, 0, __ATOMIC_RELEASE);
}

// The caller has begun the resize.
static bool begin__(struct cf_rhash *h, uint32_t buckets)
{
	struct cf_rhash_table *old = h->table, *fresh;
	fresh = old->mask + 1 == buckets ? NULL : cf_rhash_new_table(h, buckets, !old->link);
	if (!fresh) {
		end_resize(h);
		return false;
	}
	if (fresh->mask < old->mask) // several old buckets lead to each: set before any moves
		cf_rhash_set_empty(fresh, 0, 1);
	h->claimed = h->moved = 0;
	// Release: the new table and the counts. Pairs with the acquire load in cf_rhash_go_on.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&old->successor, fresh, __ATOMIC_RELEASE);
	return true;
}

// Nobody has looked since the resize began, and perhaps nobody changes the table again: whether another one follows is seen here,
// and all its buckets move. In one section: the callback of that one, after which the table may be destroyed, comes later.
// Tests cannot tell: liburcu's worker runs one callback after the other, but cf_rcu_call_soon has others run it without memory.
static void resized(struct cf_rcu_head *head)
{
	struct cf_rhash_table *old = (struct cf_rhash_table *)((char *)head - offsetof(struct cf_rhash_table, rcu));
	struct cf_rhash *h = old->owner;
	uint32_t buckets, should;
	free(old);
	cf_rcu_read_lock();
	buckets = cf_rhash_buckets(h);
	should = wanted(h, buckets);
	if (should == buckets)
		end_resize(h);
	else if (begin__(h, should))
		cf_rhash_finish_resize(h);
	cf_rcu_read_unlock();
}

static void move_bucket(struct cf_rhash *h, struct cf_rhash_table *old, struct cf_rhash_table *fresh, uint32_t bucket)
{
	uintptr_t at;
	lock_bucket(h, cf_rhash_bucket(old, bucket));
	if (fresh->mask > old->mask)
		cf_rhash_set_empty(fresh, bucket, old->mask + 1);
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

static void finish(struct cf_rhash *h, struct cf_rhash_table *old)
{
	CF_TEST_POINT("rhash: all moved");
	h->resizes++;
	cf_rcu_assign(h->table, old->successor);
	cf_rcu_call_soon(&old->rcu, resized);
}

void cf_rhash_go_on(struct cf_rhash *h, struct cf_rhash_table *old)
{
	// Acquire: what `begin` stored. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	struct cf_rhash_table *fresh = __atomic_load_n(&old->successor, __ATOMIC_ACQUIRE);
	uint32_t from, to;
	// Relaxed: a look first, so that nobody writes when all are claimed; the addition gives each part to one.
	if (CF_LIKELY(!fresh) || __atomic_load_n(&h->claimed, __ATOMIC_RELAXED) > old->mask)
		return;
	from = __atomic_fetch_add(&h->claimed, PART, __ATOMIC_RELAXED);
	if (from > old->mask)
		return;
	to = old->mask - from < PART ? old->mask + 1 : from + PART;
	for (uint32_t bucket = from; bucket < to; bucket++)
		move_bucket(h, old, fresh, bucket);
	// Release and acquire: the parts of all before the last one's `finish`.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (__atomic_add_fetch(&h->moved, to - from, __ATOMIC_ACQ_REL) == old->mask + 1)
		finish(h, old);
}

void cf_rhash_finish_resize(struct cf_rhash *h)
{
	struct cf_rhash_table *t;
	bool more;
	do {
		cf_rcu_read_lock();
		t = cf_rhash_table_of(h);
		// Acquire: the counts that `begin` stored. Relaxed: as in cf_rhash_go_on.
		// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
		more = __atomic_load_n(&t->successor, __ATOMIC_ACQUIRE) && __atomic_load_n(&h->claimed, __ATOMIC_RELAXED) <= t->mask;
		cf_rhash_go_on(h, t);
		cf_rcu_read_unlock();
	} while (more);
}

void cf_rhash_exclude_resizes(struct cf_rhash *h)
{
	CF_LOCK_WAIT_UNTIL(begin_resize(h) || (cf_rhash_finish_resize(h), false));
}

// --- When.

static bool begin_if_wanted(struct cf_rhash *h)
{
	uint32_t buckets = cf_rhash_buckets(h), should;
	// Relaxed: a hint. While a resize is under way, until the end of its grace period, nobody needs the sum.
	if ((h->flags & CF_RHASH_NO_RESIZE) || __atomic_load_n(&h->resizing, __ATOMIC_RELAXED))
		return false;
	should = wanted(h, buckets);
	return should != buckets && begin_resize(h) && begin__(h, should);
}

bool cf_rhash_maintain(struct cf_rhash *h)
{
	if (!begin_if_wanted(h))
		return false;
	cf_rhash_finish_resize(h);
	return true;
}

// A sum reads a line of each CPU, and the count alone may be wrong by as much as all CPUs hold back: one key in LOOKS asks,
// whatever bits the hashes of this table have in common.
static bool looks(uint32_t value)
{
	value = (value ^ value >> 16) * 0x85ebca6bu; // the finaliser of MurmurHash3 (A. Appleby)
	value = (value ^ value >> 13) * 0xc2b2ae35u;
	return value < UINT32_MAX / LOOKS;
}

static bool is_short(struct cf_rhash *h, const struct cf_rhash_table *t, uint32_t value, int length)
{
	return t->mask + 1 < h->most && (length >= LONG_CHAIN || (looks(value) && cf_percpu_counter_read(&h->count) > t->mask));
}

static bool is_long(struct cf_rhash *h, const struct cf_rhash_table *t, uint32_t value)
{
	return t->mask >= h->fewest && looks(value) && cf_percpu_counter_read(&h->count) < (int64_t)(t->mask + 1) / SHRINK_AT;
}

void cf_rhash_inserted(struct cf_rhash *h, struct cf_rhash_table *t, uint32_t value, int length)
{
	if (h->flags & CF_RHASH_NO_RESIZE)
		return;
	(void)cf_percpu_counter_add(&h->count, 1); // cannot fail: there is no memory for so many entries
	if (is_short(h, t, value, length))
		(void)begin_if_wanted(h);
	cf_rhash_go_on(h, t);
}

void cf_rhash_removed(struct cf_rhash *h, struct cf_rhash_table *t, uint32_t value)
{
	if (h->flags & CF_RHASH_NO_RESIZE)
		return;
	(void)cf_percpu_counter_add(&h->count, -1);
	if (is_long(h, t, value))
		(void)begin_if_wanted(h);
	cf_rhash_go_on(h, t);
}
