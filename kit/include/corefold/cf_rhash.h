/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_rhash.h: a hash table that grows and shrinks under its readers, which write nothing.
 *
 * Choose it over a locked table for frequent lookups on many CPUs. The dentry and inode caches are built on it; it does
 * not depend on them.
 *
 * Cost: a lookup reads the table's line, one bucket word and the entries of one chain. A change locks one bucket (one bit
 * of its word) by a compare-and-swap. While the table is resized, each change also moves 16 buckets. A cf_percpu_counter
 * counts the entries; about one change in 64 reads its sum. Memory: 8 bytes per bucket, 24 per entry; during a resize,
 * and until a grace period after it, there are both tables.
 *
 * Size: more entries than buckets, or fewer than an eighth as many, begin a resize to twice the number of entries. About one
 * change in 64 looks whether it is time, and every insert_unique that finds a chain of 6 or more. One resize at a time: who inserts much at once meets a table that is too small until the end of its grace period
 * (of liburcu's worker, which rests for 10 ms), when the next resize begins by itself. A large table that is filled at once
 * should begin with its number of `buckets`.
 *
 *   operation                          may overlap                             the caller holds
 *   find, next                         everything                              a read section (cf_rcu.h)
 *   insert, insert_unique, remove,     everything; of one entry: one change    nothing; may be in a read section
 *   replace, move                      at a time
 *   for_each                           everything                              no lock, no read section; the callback runs
 *                                                                              in one
 *   maintain                           everything                              nothing
 *   init, destroy                      nothing
 * Progress: find is lock-free (it restarts when the chain is moved meanwhile); changes block on their bucket.
 *
 * Ordering:
 *   1. A find that returns an entry sees what was stored in the entry before it was inserted.
 *   2. A key that is in the table during all of a find is found, despite concurrent inserts, removals, moves and resizes
 *      (tests/vfs/rhash.c, "a key that stays is always found").
 *   3. insert_unique inserts, or returns an entry present at that moment: of two concurrent inserts of a key, one succeeds.
 *   4. A removed entry is not found by a find that begins after remove has returned. Its memory may be freed after a
 *      grace period (cf_rcu_call).
 *   5. for_each visits every entry that is in the table during all of it; others once, twice or never.
 * Per-entry sequence count: `seq` is even while the entry is stable. A reader calls cf_rhash_seq_begin, loads the entry's
 * data by acquire loads, and discards them if cf_rhash_seq_changed. A writer, which excludes other writers by a lock of
 * its own, stores by release stores between cf_rhash_seq_write_begin and _end.
 *
 * Lifetime: entries are the caller's, embedded; an entry's hash must not change while it is in the table (except by move).
 *
 * Five lines, in a thread that has called cf_rcu_register_thread (cf_rcu.h), as all that use a table must:
 *   struct cf_rhash_entry *e;
 *   cf_rcu_read_lock();
 *   e = cf_rhash_find(&table, hash_of(key), same_key, &key);
 *   if (e) use((struct item *)((char *)e - offsetof(struct item, entry)));
 *   cf_rcu_read_unlock();
 *
 * Source: two links for each entry as in Linux's bridge multicast table; chain ends that name their bucket as in
 * hlist_nulls; bits for bucket locks as in rhashtable. Unlike in rhashtable, no change waits for a resize.
 */
#ifndef COREFOLD_CF_RHASH_H
#define COREFOLD_CF_RHASH_H

#include <corefold/cf_percpu_counter.h>
#include <corefold/cf_rcu.h>
#include <stdbool.h>

CF_EXTERN_BEGIN

struct cf_rhash_entry {
	/* The chains of the two tables: a pointer, or an odd number that names the bucket it ends. Under bucket locks. */
	uintptr_t next[2];
	uint32_t hash; /* under the bucket's lock; read by everybody */
	uint32_t seq;  /* under the caller's lock; read by everybody */
};

struct cf_rhash_table {
	uint32_t mask;                    /* constant: buckets - 1 */
	uint32_t link;                    /* constant: which next[] its chains use */
	struct cf_rhash_table *successor; /* set while it is resized: before the first bucket says MOVED */
	struct cf_rhash *owner;           /* constant */
	struct cf_rcu_head rcu;
	/* Behind it, on lines of their own, the buckets: first entry or end, with CF_RHASH_LOCKED and CF_RHASH_MOVED in bits 1
	 * and 2 (entries are aligned to 8). */
} CF_LINE_ALIGNED;

static inline uintptr_t *cf_rhash_bucket(const struct cf_rhash_table *t, uint32_t number)
{
	return (uintptr_t *)(uintptr_t)(t + 1) + number;
}

/* Bits of a bucket word. Bit 0 says that the rest is an end. */
enum { CF_RHASH_END = 1, CF_RHASH_LOCKED = 2, CF_RHASH_MOVED = 4, CF_RHASH_BITS = 6 };

/* Changes take no bucket locks: the caller serialises them by a lock of its own. No automatic resizing. */
#define CF_RHASH_EXTERNAL_LOCK 1u
/* Fixed size, not counted. */
#define CF_RHASH_NO_RESIZE 2u

struct cf_rhash_options {
	uint32_t buckets; /* initial and minimal number, rounded up to a power of two; 0: 64 */
	uint32_t most;    /* maximal number; 0: 2^28 */
	uint32_t flags;
};

struct cf_rhash {
	/* Line 0: read by everybody, written by a resize. */
	struct cf_rhash_table *table;
	uint32_t fewest, most, flags;
	uint64_t pad[5];
	uint32_t resizing CF_LINE_ALIGNED; /* 1: from the start of a resize to the end of its grace period */
	uint32_t resizes;                  /* how many there were */
	uint32_t claimed, moved;           /* buckets claimed for moving; buckets moved. Atomic */
	struct cf_percpu_counter count;
};

/* 0, -ENOMEM, or -EINVAL: `hash` is not aligned as its type (to CF_LINE). A null pointer as `options`: all of them 0. */
int cf_rhash_init(struct cf_rhash *hash, const struct cf_rhash_options *options);
/* Waits for a resize's grace period. Entries that are still in the table are the caller's, to be freed after it. */
void cf_rhash_destroy(struct cf_rhash *hash);

typedef bool cf_rhash_same(const struct cf_rhash_entry *entry, const void *key);

/* Chain ends: the bucket's number, so that a reader detects that it was led into another chain. */
static inline uintptr_t cf_rhash_end_of(uint32_t bucket)
{
	return (uintptr_t)bucket << 3 | CF_RHASH_END;
}

static inline struct cf_rhash_table *cf_rhash_table_of(const struct cf_rhash *hash)
{
	return cf_rcu_dereference(hash->table);
}

static inline uintptr_t cf_rhash_first(const struct cf_rhash_table *t, uint32_t value)
{
	/* Acquire: after the release store that linked the first entry. */
	return __atomic_load_n(cf_rhash_bucket(t, value & t->mask), __ATOMIC_ACQUIRE) & ~(uintptr_t)CF_RHASH_BITS;
}

static inline uintptr_t cf_rhash_next(const struct cf_rhash_table *t, const struct cf_rhash_entry *e)
{
	/* Acquire: after the release store that linked the next entry. */
	return __atomic_load_n(&e->next[t->link], __ATOMIC_ACQUIRE);
}

/* The entry with this hash for which `same` says so, or null. In a read section. */
static inline struct cf_rhash_entry *cf_rhash_find(const struct cf_rhash *hash, uint32_t value, cf_rhash_same *same,
						   const void *key)
{
	const struct cf_rhash_table *t = cf_rhash_table_of(hash);
	for (;;) {
		uintptr_t at = cf_rhash_first(t, value);
		while (!(at & CF_RHASH_END)) {
			struct cf_rhash_entry *e = (struct cf_rhash_entry *)at;
			/* Relaxed: a hash that a move changes is found by the end of the chain, or by `same`. */
			if (__atomic_load_n(&e->hash, __ATOMIC_RELAXED) == value && same(e, key))
				return e;
			at = cf_rhash_next(t, e);
		}
		if (CF_LIKELY(at == cf_rhash_end_of(value & t->mask)))
			return NULL;
	}
}

/* Inserts; several entries may have one key. `entry->seq` is the caller's, all else is set here. */
void cf_rhash_insert(struct cf_rhash *hash, struct cf_rhash_entry *entry, uint32_t value);
/* Null: it was inserted. Else the entry that `same` says is there; a caller that uses it is in a read section. */
struct cf_rhash_entry *cf_rhash_insert_unique(struct cf_rhash *hash, struct cf_rhash_entry *entry, uint32_t value,
					      cf_rhash_same *same, const void *key);
/* False: it was not in the table. */
bool cf_rhash_remove(struct cf_rhash *hash, struct cf_rhash_entry *entry);
/* `fresh` takes the place of `old`, of the same hash: a find sees one of the two. False: `old` was not in the table. */
bool cf_rhash_replace(struct cf_rhash *hash, struct cf_rhash_entry *old, struct cf_rhash_entry *fresh);
/*
 * The entry gets another hash. `change(entry, argument)` is called once, in between: neither chain has the entry then; it
 * stores the new key. False: the entry was not in the table, and `change` was not called.
 */
bool cf_rhash_move(struct cf_rhash *hash, struct cf_rhash_entry *entry, uint32_t value,
		   void (*change)(struct cf_rhash_entry *entry, void *argument), void *argument);

/* Calls `visit` for each entry, until it returns false. `visit` must not change this table. */
void cf_rhash_for_each(struct cf_rhash *hash, bool (*visit)(struct cf_rhash_entry *entry, void *argument),
		       void *argument);

/*
 * Resizes if the number of entries requires it, as changes do automatically. True: it did. False: no need, or a resize is under
 * way, until the end of its grace period.
 */
bool cf_rhash_maintain(struct cf_rhash *hash);

static inline uint32_t cf_rhash_buckets(const struct cf_rhash *hash)
{
	uint32_t buckets;
	cf_rcu_read_lock();
	buckets = cf_rhash_table_of(hash)->mask + 1;
	cf_rcu_read_unlock();
	return buckets;
}

/* Entries, exact when nothing is under way; 0 for tables of a fixed size, which do not count. */
static inline int64_t cf_rhash_count(struct cf_rhash *hash)
{
	return cf_percpu_counter_sum(&hash->count);
}

/* Never odd: data read beside a writer are thrown away at the end. */
static inline uint32_t cf_rhash_seq_begin(const struct cf_rhash_entry *e)
{
	/* Acquire: before the data. Pairs with the release store of _write_end.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE) & ~1u;
}

static inline bool cf_rhash_seq_changed(const struct cf_rhash_entry *e, uint32_t seq)
{
	/* Relaxed: comes after the data, since these were acquire loads. */
	return CF_UNLIKELY(__atomic_load_n(&e->seq, __ATOMIC_RELAXED) != seq);
}

static inline void cf_seq_write_begin(uint32_t *seq)
{
	/* Relaxed: comes before the data, since these are release stores. One writer at a time. */
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline void cf_seq_write_end(uint32_t *seq)
{
	/* Release: the data before the even number; pairs with _seq_begin.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

static inline void cf_rhash_seq_write_begin(struct cf_rhash_entry *e)
{
	cf_seq_write_begin(&e->seq);
}

static inline void cf_rhash_seq_write_end(struct cf_rhash_entry *e)
{
	cf_seq_write_end(&e->seq);
}

CF_EXTERN_END

#endif
