/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_icache.h: an inode cache: inodes are found by number without a lock, and cached while unused.
 *
 * Choose it for objects that have a number and attributes, are looked up far more often than created, and are expensive to
 * fill. For other objects use cf_rhash.h and cf_lru.h, on which it is built.
 *
 * Cost: a lookup is a find of cf_rhash and one compare-and-swap on the inode's count; a put that is not the last is another
 * one. An open file's reference (hold) is one on a line of this CPU. The put to 0 takes the inode's lock only if the inode is
 * on no LRU yet. Each CPU takes inode numbers in batches: one atomic addition on a shared word per CF_ICACHE_BATCH.
 * Memory: 448 bytes per inode, plus the structure that embeds it.
 *
 *   operation                  may overlap   the caller holds
 *   new, insert, lookup,       everything    nothing
 *     get_or_new, put
 *   get; grab, hold            everything    a reference; a read section (cf_rcu.h)
 *   gather                     everything    the name's reference, and another one
 *   dirty, clean, shrink       everything    nothing; dirty: a reference
 *   init, destroy              nothing       all references given back
 *
 * Guarantees, each with its test in tests/vfs/icache.c:
 *   1. One inode per number: get_or_new returns the same inode to concurrent callers, and all but the first wait until it
 *      has been filled.
 *   2. An inode with a reference is not evicted. Without one it is evicted at the last put if nlink is 0 (or it is not
 *      hashed), else by the shrinker.  Its memory is freed a grace period later.
 *   3. Numbers are unique for 2^64 allocations, and are not 0.
 *   4. A dirty inode is not evicted by the shrinker before it has been written (ops->write) or cleaned.
 *
 * Ordering: a lookup sees what was stored before insert (or before get_or_new's done).
 *
 * Lifetime: ops->evict is called once (also for an inode that was never filled, because another caller was faster), without a
 * lock, when only read sections that have found the inode can still access it. Its number is free by then: a new inode of that
 * number may be filled meanwhile (Linux waits for the end of the old one). Its memory returns to the cache's slabs a
 * grace period later, on another thread.
 *
 * Five lines:
 *   struct cf_inode *inode = cf_inode_get_or_new(&cache, number, &made);
 *   if (!inode) return -ENOMEM;
 *   if (made) { fill(inode); cf_inode_done(inode); }
 *   use(inode);
 *   cf_inode_put(inode);
 *
 * Source: semantics of Linux's fs/inode.c, that of 2.6.35 for CF_VFS_POLICY 0.
 */
#ifndef COREFOLD_CF_ICACHE_H
#define COREFOLD_CF_ICACHE_H

#include <corefold/cf_lru.h>
#include <corefold/cf_rhash.h>
#include <corefold/cf_slab.h>
#include <corefold/cf_vfs_policy.h>

CF_EXTERN_BEGIN

#ifndef CF_ICACHE_BATCH
#define CF_ICACHE_BATCH 1024
#endif

struct cf_inode;
struct cf_inode_ops;
struct cf_file_ops;
struct cf_cred;

struct cf_icache_ops {
	/* Size of the owner's object, whose first member is the inode; 0: the inode alone. Objects are zeroed. */
	size_t size;
	/* The name of that object's structure, by which reports show its fields; NULL: cf_inode. A literal. */
	const char *type;
	/* Called when there is no reference and none can be taken: frees what the inode owns. May be null. */
	void (*evict)(struct cf_inode *inode);
	/* Writes a dirty inode to where it belongs. 0, or -errno: it stays dirty. May be null: nothing to do. */
	int (*write)(struct cf_inode *inode);
};

/* Unique numbers: each CPU takes a batch from one shared word. */
struct cf_numbers {
	struct cf_numbers_cpu *cpus;
	uint32_t count;
	uint64_t next CF_LINE_ALIGNED;
};

/* 0 or -ENOMEM. */
int cf_numbers_init(struct cf_numbers *numbers);
void cf_numbers_destroy(struct cf_numbers *numbers);
uint64_t cf_numbers_take(struct cf_numbers *numbers);

/* References of open files, counted by each CPU. */
struct cf_holds {
	uint64_t *slots; /* of each CPU: written where it opens, and where its files are closed */
	uint64_t *used;  /* CPUs that have used theirs; a bit is set once */
	uint32_t cpus;
};

/* 0 or -ENOMEM; to be destroyed in either case. */
int cf_holds_init(struct cf_holds *holds);
void cf_holds_destroy(struct cf_holds *holds);
/* Marks this CPU as a user of its table. Called when an inode is created, so that the CPU's opens need not store the mark. */
void cf_holds_use(struct cf_holds *holds, uint32_t cpu);

struct cf_icache {
	/* Read by everybody, constant. */
	const struct cf_icache_ops *ops;
	void *owner;
	struct cf_lru unused, dirty, all;
	struct cf_holds holds;
	struct cf_numbers numbers;
	struct cf_vfs_lock lock CF_LINE_ALIGNED; /* policies without split inodes: the inode lock */
	struct cf_vfs_count count;
	struct cf_rhash hash;
	struct cf_slab memory; /* of inodes: whole lines each, as they are read by all CPUs beside others' references */
	struct cf_slab changes; /* of struct cf_inode_changes */
};

/*
 * The change time of a file with several names, split: renames, links and removals of its names on different CPUs store it on
 * different lines, and stat takes the latest. 256 bytes, allocated with the second name; the inode's charge covers them.
 */
enum { CF_CHANGE_PARTS = 4 };
struct cf_inode_changes {
	struct {
		int64_t time CF_LINE_ALIGNED; /* written by one CPU in four */
	} part[CF_CHANGE_PARTS];
};

/* cf_inode.state */
enum {
	CF_INODE_NEW = 1,       /* being filled by the thread that made it */
	CF_INODE_HASHED = 2,
	CF_INODE_DIRTY = 4,
	CF_INODE_REFERENCED = 16,
	CF_INODE_DEAD = 32,     /* evicted */
};


struct cf_inode {
	/* Attributes are in three groups, each with a sequence count and, in the scaled form, lines of its own: times, written by
	 * reads and writes; size, written when the file grows; the others, written by changes of names. All CPUs read them,
	 * by relaxed or acquire loads.
	 * Line 0: what a path walk reads, which changes rarely. mode, uid and gid are in the group of the names. */
	uint32_t mode, uid, gid;
	uint32_t flags;                 /* CF_INODE_* of the owner's, constant once filled */
	const struct cf_inode_ops *ops; /* constant once filled */
	const char *link;               /* a symbolic link's text, or null: ask ops->readlink. Set once; malloc's memory,
					 * freed with the inode */
	void *super;                    /* struct cf_super; constant */
	uint64_t number;
	const struct cf_file_ops *file_ops;
	struct cf_icache *cache;        /* constant */
	/* Line 1: the times of writing, under `lock`, as are state and lists. */
	uint32_t used_seq CF_LINE_ALIGNED;
	int64_t mtime;                  /* nanoseconds since 1970 */
	int64_t wtime;                  /* time of the last write. st_ctime is the later of this and ctime */
	uint64_t device;
	struct cf_vfs_lock lock;
	/* Line 2: the time of reading, stored under `lock`, or alone by a compare-and-swap. */
	int64_t atime CF_LINE_ALIGNED;
	uint32_t unread;                /* 1: not read since its creation, so atime is not later than ctime. Set to 0 before atime is stored */
	struct cf_lru_link dirty;
	struct cf_rcu_head rcu;
	/* Line 3: references, and the number of names, which change together. nlink, mode, uid and gid: under cf_inode_names_lock. */
	int32_t count CF_LINE_ALIGNED;  /* atomic; below 0: dead */
	uint32_t state;                 /* atomic bits; changed under `lock` */
	struct cf_lru_link unused;
	void *private_data;             /* the backend's */
	uint32_t names_seq, nlink;
	struct cf_vfs_lock names_lock;
	/* Line 4: only read by reads and writes within the file; written under a lock of the backend. */
	uint64_t size CF_LINE_ALIGNED, blocks;
	uint32_t size_seq;
	/* Line 5: the change time, stored at most once per clock tick. Stored alone, or with the names' group. */
	int64_t ctime CF_LINE_ALIGNED;
	struct cf_inode_changes *changes; /* null: only ctime counts. Set once; freed with the inode */
	struct cf_rhash_entry hash;
	struct cf_lru_link all;
	/* Line 6: what an open reads, beside line 0. */
	uint32_t counted CF_LINE_ALIGNED; /* atomic; 1: open files are counted per CPU. A name's reference stays until gather */
	struct cf_vfs_sem sem; /* directories: shared for lookups, exclusive for changes. Files: the backend's */
};

/* 0 or -ENOMEM. `buckets`: 0 is the default; policies without split inodes do not resize. */
int cf_icache_init(struct cf_icache *cache, const struct cf_icache_ops *ops, void *owner, uint32_t buckets);
/* Evicts all that is unused; -EBUSY if references are left, and nothing is destroyed. */
int cf_icache_destroy(struct cf_icache *cache);

/* A number that no inode has. */
uint64_t cf_icache_number(struct cf_icache *cache);
/* A new inode with one reference, with a number of its own, not hashed, or null. Filled by its only user. */
struct cf_inode *cf_inode_new(struct cf_icache *cache);
/* Can be found by its number from now on. -EEXIST: another inode has it. */
int cf_inode_insert(struct cf_inode *inode);
/* Referenced, or null. Waits for one that is being filled. */
struct cf_inode *cf_inode_lookup(struct cf_icache *cache, uint64_t number);
/* `number` is not 0. Referenced; *made: the caller fills it and calls cf_inode_done (or cf_inode_failed). Null: no memory. */
struct cf_inode *cf_inode_get_or_new(struct cf_icache *cache, uint64_t number, bool *made);
void cf_inode_done(struct cf_inode *inode);
/* Filling failed: the inode is not found any more, and waiting callers retry. Puts the reference. */
void cf_inode_failed(struct cf_inode *inode);
/* The inode is not found by its number any more. */
void cf_inode_unhash(struct cf_inode *inode);

/* One more reference; the caller has one. */
static inline void cf_inode_get(struct cf_inode *inode)
{
	__atomic_fetch_add(&inode->count, 1, __ATOMIC_RELAXED); /* relaxed: the caller's reference keeps it */
}
/* In a read section: false if it is dead. */
bool cf_inode_grab(struct cf_inode *inode);
void cf_inode_put(struct cf_inode *inode);

/*
 * Takes a reference that stores to no line of the inode while it is `counted`; it may be put on another CPU. In a read
 * section: false if the inode is dead. *hold: to be passed to unhold; 0 for a reference from get, grab or new.
 */
bool cf_inode_hold(struct cf_inode *inode, uint32_t *hold);
void cf_inode_unhold(struct cf_inode *inode, uint32_t hold);
/* Called when the last name is removed, before its reference is put: holds become ordinary references. Reads a line of each CPU
 * that has ever held an inode. */
void cf_inode_gather(struct cf_inode *inode);

/* The inode gets another name: from now on change times are stored split, if there is memory. */
void cf_inode_part_changes(struct cf_inode *inode);
/* Where this CPU stores the time of a change. */
int64_t *cf_inode_change_time(struct cf_inode *inode);
/* The latest one. */
int64_t cf_inode_last_change(const struct cf_inode *inode);

void cf_inode_mark_dirty(struct cf_inode *inode);
/* Writes dirty inodes, `most` of them; returns how many were written. */
size_t cf_icache_write_dirty(struct cf_icache *cache, size_t most);
/* Evicts up to `most` unused inodes; returns how many. */
size_t cf_icache_shrink(struct cf_icache *cache, size_t most);
size_t cf_icache_unused(const struct cf_icache *cache);
/* Inodes that exist; exact when nothing is under way. */
int64_t cf_icache_count(struct cf_icache *cache);

/*
 * Consistent attributes: writers hold the group's lock. A reader loads them by acquire loads between attr_begin and
 * attr_changed, and retries if that returns true. A writer of several groups begins all of them before it stores; the names'
 * lock is taken first.
 */
static inline void cf_inode_lock(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_vfs_lock_take(&inode->lock, node);
}

static inline void cf_inode_unlock(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_vfs_lock_drop(&inode->lock, node);
}

/* The lock of nlink, mode, uid and gid. Before the scaled form one lock is for all attributes. */
static inline void cf_inode_names_lock(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_vfs_lock_take(CF_VFS_RCU_WALK ? &inode->names_lock : &inode->lock, node);
}

static inline void cf_inode_names_unlock(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_vfs_lock_drop(CF_VFS_RCU_WALK ? &inode->names_lock : &inode->lock, node);
}

/* Of one group's count: used_seq, size_seq or names_seq. */
static inline void cf_inode_attr_write_begin(uint32_t *seq)
{
	/* Relaxed: the attributes follow by release stores. */
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

static inline void cf_inode_attr_write_end(uint32_t *seq)
{
	/* Release: the attributes before the even number.
	 * x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	__atomic_store_n(seq, __atomic_load_n(seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

struct cf_inode_seqs {
	uint32_t used, size, names;
};

static inline struct cf_inode_seqs cf_inode_attr_begin(const struct cf_inode *inode)
{
	/* Acquire: before the attributes. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	struct cf_inode_seqs seqs = { __atomic_load_n(&inode->used_seq, __ATOMIC_ACQUIRE) & ~1u,
				      __atomic_load_n(&inode->size_seq, __ATOMIC_ACQUIRE) & ~1u,
				      __atomic_load_n(&inode->names_seq, __ATOMIC_ACQUIRE) & ~1u };
	return seqs;
}

static inline bool cf_inode_attr_changed(const struct cf_inode *inode, struct cf_inode_seqs seqs)
{
	/* Relaxed: after acquire loads. */
	return __atomic_load_n(&inode->used_seq, __ATOMIC_RELAXED) != seqs.used ||
	       __atomic_load_n(&inode->size_seq, __ATOMIC_RELAXED) != seqs.size ||
	       __atomic_load_n(&inode->names_seq, __ATOMIC_RELAXED) != seqs.names;
}

/* Between the looks at a sequence count. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
#define CF_INODE_LOAD(inode, field) __atomic_load_n(&(inode)->field, __ATOMIC_ACQUIRE)
#define CF_INODE_STORE(inode, field, value) __atomic_store_n(&(inode)->field, (value), __ATOMIC_RELEASE)

CF_EXTERN_END

#endif
