/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_vfs_policy.h: how the dentry and inode caches lock, chosen at build time by CF_VFS_POLICY: Linux 2.6.35, the main
 * steps of the vfs-scale series, or the scaled form. All are built from one source, which tests the features below, not
 * the number.
 *
 *   CF_VFS_POLICY    what it changes
 *   0 base-2.6.35    one dcache lock, one inode lock, one files lock; global counts and LRU; a path walk locks each dentry
 *                    and counts a reference on it, and the last put takes the dcache lock
 *   1 files          open files are listed per CPU
 *   2 inodes         the inode lock is split: a lock for each inode and hash bucket, lists per CPU
 *   3 dentries       the dcache lock is split: a lock for each dentry and hash bucket, one for renames
 *   4 percpu         counts and LRU lists per CPU
 *   5 rcu-walk       a path walk stores to no shared line (default)
 *
 * All units of a program must be built with the same policy: structures differ.
 * CF_VFS_LOCK_KIND: CF_LOCK_TICKET (default, as Linux of 2010) or CF_LOCK_QUEUED.
 */
#ifndef COREFOLD_CF_VFS_POLICY_H
#define COREFOLD_CF_VFS_POLICY_H

#include <corefold/cf_lock.h>
#include <corefold/cf_percpu_counter.h>
#include <corefold/cf_rwsem.h>

#ifndef CF_VFS_POLICY
#define CF_VFS_POLICY 5
#endif
#if CF_VFS_POLICY < 0 || CF_VFS_POLICY > 5
#error "CF_VFS_POLICY is 0 to 5"
#endif

#define CF_VFS_FILES_PERCPU (CF_VFS_POLICY >= 1)
#define CF_VFS_INODES_SPLIT (CF_VFS_POLICY >= 2)
#define CF_VFS_DENTRIES_SPLIT (CF_VFS_POLICY >= 3)
#define CF_VFS_PERCPU (CF_VFS_POLICY >= 4)
#define CF_VFS_RCU_WALK (CF_VFS_POLICY >= 5)

#ifndef CF_VFS_LOCK_KIND
#define CF_VFS_LOCK_KIND CF_LOCK_TICKET
#endif

CF_EXTERN_BEGIN

/* The name of the policy that the library was built with: "base-2.6.35", "files", ... */
const char *cf_vfs_policy_name(void);

/* The spinning lock of the caches: global ones, and those of dentries and inodes. */
struct cf_vfs_lock {
	struct cf_lock lock;
};

static inline void cf_vfs_lock_init(struct cf_vfs_lock *l)
{
	cf_lock_init(&l->lock, CF_VFS_LOCK_KIND);
}

static inline void cf_vfs_lock_take(struct cf_vfs_lock *l, struct cf_lock_node *node)
{
	cf_lock_take(&l->lock, node);
}

static inline void cf_vfs_lock_drop(struct cf_vfs_lock *l, struct cf_lock_node *node)
{
	cf_lock_drop(&l->lock, node);
}

/* Takes it if nobody holds it. */
static inline bool cf_vfs_lock_try(struct cf_vfs_lock *l, struct cf_lock_node *node)
{
	return cf_lock_try(&l->lock, node);
}

/*
 * The semaphore of a directory (many lookups, or one change) and of a file's writers: blocks, may be held for long.
 */
struct cf_vfs_sem {
	struct cf_rwsem sem;
};

static inline void cf_vfs_sem_init(struct cf_vfs_sem *s)
{
	cf_rwsem_init(&s->sem);
}

/* 2.6.35 has a mutex there, also for lookups. */
static inline void cf_vfs_sem_read(struct cf_vfs_sem *s)
{
#if CF_VFS_RCU_WALK
	(void)cf_rwsem_read_lock(&s->sem); /* cannot fail: nobody takes it twice */
#else
	(void)cf_rwsem_write_lock(&s->sem);
#endif
}

static inline void cf_vfs_sem_read_done(struct cf_vfs_sem *s)
{
#if CF_VFS_RCU_WALK
	cf_rwsem_read_unlock(&s->sem);
#else
	cf_rwsem_write_unlock(&s->sem);
#endif
}

static inline void cf_vfs_sem_write(struct cf_vfs_sem *s)
{
	(void)cf_rwsem_write_lock(&s->sem); /* as above */
}

static inline bool cf_vfs_sem_write_try(struct cf_vfs_sem *s)
{
	return cf_rwsem_write_trylock(&s->sem) == 0;
}

static inline void cf_vfs_sem_write_done(struct cf_vfs_sem *s)
{
	cf_rwsem_write_unlock(&s->sem);
}

/*
 * A number of objects: per CPU, or one shared word. `read` may be off by the counter's batch for each CPU, `sum` not.
 */
struct cf_vfs_count {
#if CF_VFS_PERCPU
	struct cf_percpu_counter counter;
#else
	int64_t value CF_LINE_ALIGNED;
#endif
};

static inline int cf_vfs_count_init(struct cf_vfs_count *c)
{
#if CF_VFS_PERCPU
	return cf_percpu_counter_init(&c->counter, 0);
#else
	c->value = 0;
	return 0;
#endif
}

static inline void cf_vfs_count_destroy(struct cf_vfs_count *c)
{
#if CF_VFS_PERCPU
	cf_percpu_counter_destroy(&c->counter);
#else
	(void)c;
#endif
}

static inline void cf_vfs_count_add(struct cf_vfs_count *c, int64_t amount)
{
#if CF_VFS_PERCPU
	(void)cf_percpu_counter_add(&c->counter, amount); /* cannot fail: amounts are small */
#else
	__atomic_fetch_add(&c->value, amount, __ATOMIC_RELAXED); /* relaxed: a count, nothing hangs on it */
#endif
}

static inline int64_t cf_vfs_count_read(struct cf_vfs_count *c)
{
#if CF_VFS_PERCPU
	return cf_percpu_counter_read_positive(&c->counter);
#else
	return __atomic_load_n(&c->value, __ATOMIC_RELAXED); /* relaxed: as above */
#endif
}

static inline int64_t cf_vfs_count_sum(struct cf_vfs_count *c)
{
#if CF_VFS_PERCPU
	return cf_percpu_counter_sum(&c->counter);
#else
	return cf_vfs_count_read(c);
#endif
}

CF_EXTERN_END

#endif
