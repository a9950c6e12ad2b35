/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_dcache.h: the dentry cache. A dentry is one name in one directory: positive if it has an inode, negative if the name
 * is known not to exist. cf_walk.h walks paths through the cache.
 *
 * Choose it for names in a tree that are looked up far more often than they change. For keys without a tree use cf_rhash.h
 * and cf_lru.h, on which it is built. For a file system use cf_vfs.h, with your own store through cf_backend.h.
 *
 * Cost: a hit in a read section stores nothing to shared memory: it loads the bucket, and the first two lines of each
 * dentry. A reference is one compare-and-swap on the dentry's third line, and so is dropping the last one if the dentry is
 * on an LRU already. Memory: 256 bytes per dentry, in slabs (cf_slab.h); names of more than 31 bytes are allocated
 * separately. Dentries on an LRU are charged (cf_super_ops).
 *
 *   operation                       may overlap    the caller holds
 *   alloc                           everything     a reference on the parent
 *   add, instantiate                everything     the name's lock; not needed for add if nobody else has the dentry
 *   lookup, find, get, put          everything     a reference on the parent (lookup, find), on the dentry (get, put)
 *   drop, delete, move,             everything     a reference; all but drop: the names' locks
 *     move_inode
 *   shrink                          everything     nothing
 *   drop_names                      everything     a reference, and its name's lock
 *   super_init, super_destroy       nothing
 * A name's lock is that of ops->name_lock, or else the directory's inode->sem, exclusively.
 * Lock order, outermost first: super->rename_mutex; names' locks (ancestor before descendant, otherwise a second one is
 * only tried); super->rename_lock; dentry->lock (parent before child); inode->lock; LRU list; hash bucket.
 * A shrinker, which holds a list's lock, only tries dentry->lock.
 *
 *
 * Guarantees, each with its test in tests/vfs:
 *   1. A name is in the cache once: if several threads look up a name that is not cached, one calls the backend
 *      (ops->lookup), and the others wait for its result.  (dcache_ops.c, "simultaneous misses")
 *   2. A directory is never below itself: move refuses with -EINVAL.  (rename.c, "no loops")
 *   3. When all references are dropped and shrink returns 0, all memory but the root's is free after cf_rcu_barrier.
 *   4. Parent, name and inode of a dentry read between cf_dentry_seq_begin and an unchanged seq belong together.
 *
 * Lifetime: a dentry holds a reference on its parent and on its inode. Its memory is freed a grace period after the last
 * reference and its removal from the table.
 *
 * Five lines (cf_inode_ops.lookup is asked when the name is not cached; walks do this for each component):
 *   struct cf_name name = cf_name_of("a", 1);
 *   int error = cf_dentry_find(directory, &name, false, &dentry);
 *   if (error) return error;
 *   if (cf_dentry_inode(dentry)) use(cf_dentry_inode(dentry));
 *   cf_dentry_put(dentry);
 *
 * Source: semantics of Linux's fs/dcache.c: of 2.6.35 for CF_VFS_POLICY 0, of the vfs-scale series for 3 and 4. The scaled form differs:
 * a reference needs no lock, and a name that is being looked up is in the same table as all others.
 */
#ifndef COREFOLD_CF_DCACHE_H
#define COREFOLD_CF_DCACHE_H

#include <corefold/cf_icache.h>
#include <corefold/cf_mutex.h>

CF_EXTERN_BEGIN

enum {
	CF_NAME_MOST = 255,   /* bytes of a name */
	CF_PATH_MOST = 4096,  /* bytes of a path, its NUL included */
	CF_NAME_INLINE = 31,  /* bytes of a name that needs no memory of its own */
	CF_LINKS_MOST = 40,   /* symbolic links in one walk */
};

/* A name to be looked up: bytes that need no NUL behind them, and their hash. */
struct cf_name {
	const char *bytes;
	uint32_t length;
	uint32_t hash; /* of cf_name_hash, or the directory's ops->hash */
};

uint32_t cf_name_hash(const char *bytes, size_t length);

static inline struct cf_name cf_name_of(const char *bytes, size_t length)
{
	struct cf_name name = { bytes, (uint32_t)length, 0 };
	name.hash = cf_name_hash(bytes, length);
	return name;
}

struct cf_cred {
	uint32_t uid, gid;       /* of file-system accesses */
	const uint32_t *groups;  /* supplementary */
	uint32_t group_count;
	uint32_t privileged;     /* not 0: all permissions, except to execute a file that has no execute bit */
};

enum { CF_MAY_EXEC = 1, CF_MAY_WRITE = 2, CF_MAY_READ = 4 };

/* What chmod, chown, truncate and utimes change: fields in `valid`. */
enum { CF_ATTR_MODE = 1, CF_ATTR_UID = 2, CF_ATTR_GID = 4, CF_ATTR_SIZE = 8, CF_ATTR_ATIME = 16, CF_ATTR_MTIME = 32 };

struct cf_attr {
	uint32_t valid, mode, uid, gid;
	uint64_t size;
	int64_t atime, mtime; /* nanoseconds since 1970 */
};

/*
 * The backend: the storage below the caches. Names have no slashes, 1 to 255 bytes, and are never "." or "..". Changes and
 * lookup are called with the names' locks held (lookup also with the sem shared). All return 0 or -errno.
 */
struct cf_inode_ops {
	/* *inode: referenced; null: the name does not exist, which is cached, too. */
	int (*lookup)(struct cf_inode *directory, const struct cf_name *name, struct cf_inode **inode);
	int (*create)(struct cf_inode *directory, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
		      struct cf_inode **inode);
	int (*mkdir)(struct cf_inode *directory, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
		     struct cf_inode **inode);
	int (*symlink)(struct cf_inode *directory, const struct cf_name *name, const char *text,
		       const struct cf_cred *cred, struct cf_inode **inode);
	int (*link)(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode);
	int (*unlink)(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode);
	int (*rmdir)(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode);
	/* `target`: the inode that has the new name so far, or null. */
	int (*rename)(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
		      const struct cf_name *new_name, struct cf_inode *target, unsigned flags);
	/* The text of a symbolic link into `text`, with a NUL; its length or -errno. Not needed where inode->link is set. */
	int (*readlink)(struct cf_inode *inode, char *text, size_t size);
	int (*setattr)(struct cf_inode *inode, const struct cf_attr *attr, const struct cf_cred *cred);
	/*
	 * For a directory with locks per name: the lock of this name, which is held instead of the sem. Called in a read
	 * section; the lock exists until a grace period after the inode's end. Null: the sem protects all names.
	 */
	struct cf_mutex *(*name_lock)(struct cf_inode *directory, const struct cf_name *name);
	/* For stat of such a directory: what to add to its size, and when its names last changed. In a read section; must not block. */
	void (*tally)(const struct cf_inode *directory, int64_t *size, int64_t *changed);
	/*
	 * Null: mode bits decide. If `may_wait` is false it is called in a read section: then it must neither block nor write
	 * to shared memory, and may return -ECHILD to be called again outside of one.
	 */
	int (*permission)(struct cf_inode *inode, uint32_t mask, const struct cf_cred *cred, bool may_wait);
};

struct cf_dentry;

/* What a file system may change about its names; each may be null. */
struct cf_dentry_ops {
	/* 1: still valid; 0: drop it and look it up again; -ECHILD in a read section (may_wait false): call again outside. */
	int (*revalidate)(struct cf_dentry *dentry, bool may_wait);
	/* The hash of a name in this directory, so that `same` names have the same hash. */
	uint32_t (*hash)(const struct cf_dentry *directory, const char *bytes, size_t length);
	bool (*same)(const struct cf_dentry *directory, const char *ours, size_t our_length, const struct cf_name *name);
	/* Called at the last put: true frees the dentry instead of caching it. */
	bool (*discard)(const struct cf_dentry *dentry);
	/* Drops the dentry's inode reference. Null: cf_inode_put. */
	void (*put_inode)(struct cf_dentry *dentry, struct cf_inode *inode);
};

/* cf_dentry.flags; changed under dentry->lock, read by everybody. */
enum {
	CF_DENTRY_HASHED = 1,
	CF_DENTRY_REFERENCED = 4,  /* used since the shrinker's last scan */
	CF_DENTRY_DEAD = 8,
	CF_DENTRY_LOOKUP = 16,     /* the backend's lookup is under way; finders wait */
	CF_DENTRY_ROOT = 32,
	CF_DENTRY_DIRECTORY = 64,  /* its inode is one */
	CF_DENTRY_REMOVED = 256,   /* a directory: its names are not kept */
	CF_DENTRY_POSITIVE = 512,  /* it has an inode */
	CF_DENTRY_GOING = 1024,    /* a directory that is being removed or replaced: cf_dentry_goes */
	/* Which operations the table has, so that a walk need not load it: replaced as a whole by cf_dentry_set_ops. */
	CF_DENTRY_OP_REVALIDATE = 1 << 16,
	CF_DENTRY_OP_HASH = 1 << 17,
	CF_DENTRY_OP_SAME = 1 << 18,
	CF_DENTRY_OP_DISCARD = 1 << 19,
	CF_DENTRY_OP_PUT_INODE = 1 << 20,
	CF_DENTRY_OPS = 31 << 16,
};

struct cf_super;

struct cf_dentry {
	/* Line 0: what a walk reads first, and all that a test for existence reads; written between
	 * cf_rhash_seq_write_begin and _end. */
	struct cf_rhash_entry hash;   /* the table's; its seq covers parent, name, flags, and inode but for file_seq */
	struct cf_dentry *parent;     /* the root's is itself */
	uint64_t name_key;            /* hash of the name << 32 | length */
	uint32_t flags, salt;         /* salt: constant; spreads the names of different directories */
	uint64_t name[(CF_NAME_INLINE + 1) / 8]; /* with zeroes behind it; half of it is on line 1 */
	/* Line 1: which file it is. */
	struct cf_inode *inode;       /* null: negative */
	const char *long_name;        /* of more than CF_NAME_INLINE bytes, else null */
	const struct cf_dentry_ops *ops;
	struct cf_super *super;       /* constant */
	void *private_data;           /* the file system's */
	uint32_t file_seq, pad;       /* a sequence count like hash.seq, for when another file gets the name */
	/* Line 2: references and the lock; not accessed by a walk. */
	int32_t count CF_LINE_ALIGNED; /* atomic; below 0: dead */
	uint32_t waiters;
	struct cf_vfs_lock lock;
	struct cf_lru_link lru;
	struct cf_rcu_head rcu;
	/* Line 3: children and siblings, under the parent's lock; the scaled form lists none. */
	struct cf_dentry *children CF_LINE_ALIGNED, *next_sibling, **sibling_link;
};

struct cf_super_ops {
	/*
	 * Charges unused cached dentries: called with +bytes (of a dentry and a long name) when one loses its last reference,
	 * with -bytes when a shrinker finds it in use again, or when it is freed. A negative result refuses: it is freed at
	 * once. Called with the dentry's lock held: must neither block nor call back. May be null.
	 */
	int (*charge)(struct cf_super *super, int64_t bytes);
};

/* One file system: its caches, and what they are built on. */
struct cf_super {
	const struct cf_super_ops *ops;
	const struct cf_dentry_ops *dentry_ops; /* for every new dentry; may be null */
	struct cf_dentry *root;
	void *private_data;
	struct cf_icache icache;
	struct cf_rhash names;
	struct cf_lru unused;
	struct cf_vfs_count dentries;
	struct cf_numbers salts;
	struct cf_slab memory; /* of dentries: four whole lines each, as walks read the first two of all CPUs' dentries */
	/* Policies without split dentries: the dcache lock. */
	struct cf_vfs_lock dcache_lock CF_LINE_ALIGNED;
	/* Parents of directories change only under this lock. Walks detect a move by the dentries' own sequence counts. */
	struct cf_vfs_lock rename_lock CF_LINE_ALIGNED;
	/* Serialises renames of directories between directories, so that ancestors do not change meanwhile. */
	struct cf_mutex rename_mutex CF_LINE_ALIGNED;
};

struct cf_super_options {
	const struct cf_super_ops *ops;
	const struct cf_dentry_ops *dentry_ops;
	const struct cf_icache_ops *icache_ops;
	void *private_data;
	uint32_t dentry_buckets, inode_buckets; /* 0: default */
};

/* 0, -EINVAL (not aligned) or -ENOMEM. */
int cf_super_init(struct cf_super *super, const struct cf_super_options *options);
/* The root directory; takes over the caller's reference on the inode. 0 or -ENOMEM; once, before anything else. */
int cf_super_set_root(struct cf_super *super, struct cf_inode *inode);
/* Frees everything, and waits for that. -EBUSY: there are references; only unused entries have been freed. */
int cf_super_destroy(struct cf_super *super);

/* A dentry with one reference, in no table, or null. Its name must not be longer than CF_NAME_MOST. */
struct cf_dentry *cf_dentry_alloc(struct cf_dentry *parent, const struct cf_name *name);
/*
 * A dentry for an inode without a path, such as a socket's. It has one reference, is in no table, and holds a reference on
 * the inode; null: out of memory. In 2.6.35 all of these are children of one directory; with split dentries they have none.
 */
struct cf_dentry *cf_dentry_pseudo(struct cf_super *super, struct cf_inode *inode);
/* Into the table, with this inode (whose reference it takes over) or null. */
void cf_dentry_add(struct cf_dentry *dentry, struct cf_inode *inode);
/* A negative dentry becomes positive; takes over the reference on the inode. */
void cf_dentry_instantiate(struct cf_dentry *dentry, struct cf_inode *inode);
/* Replaces the table of operations (null: none): flags of the old one are cleared first. */
void cf_dentry_set_ops(struct cf_dentry *dentry, const struct cf_dentry_ops *ops);

/* The cached dentry of a name, referenced, or null. Waits if the backend's lookup of the name is under way. */
struct cf_dentry *cf_dentry_lookup(struct cf_dentry *parent, const struct cf_name *name);
/*
 * The dentry of a name, referenced, positive or negative; calls the backend if it is not cached. 0 or -errno (the
 * backend's, -ENOMEM, -ENOENT: the directory has been removed). The caller holds the name's lock if `locked`.
 */
int cf_dentry_find(struct cf_dentry *parent, const struct cf_name *name, bool locked, struct cf_dentry **dentry);

static inline void cf_dentry_get(struct cf_dentry *dentry)
{
	__atomic_fetch_add(&dentry->count, 1, __ATOMIC_RELAXED); /* relaxed: the caller's reference keeps it */
}
/* In a read section: false if it is dead. */
bool cf_dentry_grab(struct cf_dentry *dentry);
/*
 * References the dentry behind a pointer such as dentry->parent, which holds a reference that is put only after the pointer
 * changes. The pointer still leads to it once the reference is taken: a dentry left before may have lost or changed its inode.
 */
struct cf_dentry *cf_dentry_grab_at(struct cf_dentry *const *pointer);
/* The same, without a reference, for use within one read section and of the inode alone. Never null. */
struct cf_inode *cf_dentry_inode_at(struct cf_dentry *const *pointer);
/* Null is allowed. */
void cf_dentry_put(struct cf_dentry *dentry);

/* Removes it from the table: it is not found any more; existing references stay valid. */
void cf_dentry_drop(struct cf_dentry *dentry);
/* The name was removed: the dentry becomes negative if only the caller has it, else it is dropped. */
void cf_dentry_delete(struct cf_dentry *dentry);
/*
 * The dentry gets the name and the parent of `target`, which is dropped. 0, or -EINVAL: a directory would be below
 * itself; nothing was changed. With `exchange` the target gets the other's place instead.
 */
int cf_dentry_move(struct cf_dentry *dentry, struct cf_dentry *target, bool exchange);
/*
 * The same for files, without moving dentries: the target gets the inode, and the dentry becomes negative. False: nothing was
 * changed, since others have references, or it is not the scaled form.
 */
bool cf_dentry_move_inode(struct cf_dentry *dentry, struct cf_dentry *target);
/* Whether `dentry` is `ancestor` or below it. */
bool cf_dentry_below(struct cf_dentry *dentry, struct cf_dentry *ancestor);

/*
 * Locks two directories for a rename, in the global order. `directory`: what is renamed is (or may be) a directory. Returns
 * the child of one that is an ancestor of the other, or null: it must be neither the source (-EINVAL) nor the target
 * (-ENOTEMPTY).
 */
struct cf_dentry *cf_rename_lock(struct cf_dentry *a, struct cf_dentry *b, bool directory);
void cf_rename_unlock(struct cf_dentry *a, struct cf_dentry *b, bool directory);
/* The same without the sems, where names have locks of their own. */
struct cf_dentry *cf_rename_order(struct cf_dentry *a, struct cf_dentry *b, bool directory);
void cf_rename_unorder(struct cf_dentry *a, struct cf_dentry *b, bool directory);

/* Frees up to `most` unused dentries; returns how many. */
size_t cf_dcache_shrink(struct cf_super *super, size_t most);
/*
 * The same without waiting for a grace period, for callers that are in a read section or hold locks other than dentries' and
 * inodes'. False: nothing that is charged can be freed. The charges are returned before it returns, memory after the grace
 * period.
 */
bool cf_dcache_reclaim(struct cf_super *super, size_t most);
/*
 * Frees the names (all negative) of a directory that has just been removed. They hold references on its dentry, which would
 * keep its inode until a shrinker frees them. Those that a walk holds are freed at their last put. Scans all unused dentries,
 * unless the directory has no name in the cache.
 */
void cf_dentry_drop_names(struct cf_dentry *removed);
/*
 * A directory loses its links a moment before its name. `going` from before the one until after the other, under the name's lock.
 * A call that fails since the directory has no link waits in between (cf_dentry_await_gone): its thread must not find the name
 * afterwards. The waiter may hold locks of names in that directory.
 */
void cf_dentry_goes(struct cf_dentry *directory, bool going);
void cf_dentry_await_gone(const struct cf_dentry *directory);
/* Has it no link? Not before its name has gone too. */
bool cf_dentry_is_removed(const struct cf_dentry *directory);
size_t cf_dcache_unused(const struct cf_super *super);
/* Dentries that exist; exact when nothing is under way. */
int64_t cf_dcache_count(struct cf_super *super);

/* Copies the name, with a NUL, into a buffer of CF_NAME_MOST + 1 bytes; returns its length. */
size_t cf_dentry_name(const struct cf_dentry *dentry, char *buffer);
/*
 * The path from `root` to the dentry, at the end of the buffer: its begin, or null: -ENAMETOOLONG through *error, or
 * -ENOENT when it has been removed.
 */
char *cf_dentry_path(struct cf_dentry *dentry, struct cf_dentry *root, char *buffer, size_t size, int *error);

/* Checks permission for these credentials: 0, -EACCES or the backend's errno; -ECHILD only if may_wait is false. */
int cf_inode_permission(struct cf_inode *inode, uint32_t mask, const struct cf_cred *cred, bool may_wait);

static inline uint32_t cf_dentry_flags(const struct cf_dentry *dentry)
{
	/* Acquire: as data of the sequence. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(&dentry->flags, __ATOMIC_ACQUIRE);
}

static inline struct cf_inode *cf_dentry_inode(const struct cf_dentry *dentry)
{
	return cf_rcu_dereference(dentry->inode);
}

static inline struct cf_dentry *cf_dentry_parent(const struct cf_dentry *dentry)
{
	return cf_rcu_dereference(dentry->parent);
}

static inline uint32_t cf_dentry_seq_begin(const struct cf_dentry *dentry)
{
	return cf_rhash_seq_begin(&dentry->hash);
}

static inline bool cf_dentry_seq_changed(const struct cf_dentry *dentry, uint32_t seq)
{
	return cf_rhash_seq_changed(&dentry->hash, seq);
}

/*
 * The same for users of the inode: another file may get the name without a change of the sequence count above. (A directory
 * never does.)
 */
static inline uint32_t cf_dentry_file_seq_begin(const struct cf_dentry *dentry)
{
	/* Acquire: before the inode. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can. */
	return __atomic_load_n(&dentry->file_seq, __ATOMIC_ACQUIRE) & ~1u;
}

static inline bool cf_dentry_file_seq_changed(const struct cf_dentry *dentry, uint32_t seq)
{
	return CF_UNLIKELY(__atomic_load_n(&dentry->file_seq, __ATOMIC_RELAXED) != seq); /* relaxed: after acquire loads */
}

CF_EXTERN_END

#endif
