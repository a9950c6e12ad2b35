// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Invariants, with inode->lock (policies without split inodes: the cache's lock) held:
 *   A. An inode with count 0 that is not dead is on the unused list.
 *   B. Who puts the last reference without the lock looks afterwards whether the inode is on the list, hashed and linked;
 *      who takes it off the list looks afterwards at the count. Both are sequentially consistent: one sees the other.
 */
#include "reference.h"
#include <corefold/cf_icache.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INODE_OF(pointer, member) ((struct cf_inode *)(void *)((char *)(pointer) - offsetof(struct cf_inode, member)))

// The lock of an inode's state and lists.
static struct cf_vfs_lock *lock_of(struct cf_inode *inode)
{
	return CF_VFS_INODES_SPLIT ? &inode->lock : &inode->cache->lock;
}

static uint32_t state_of(const struct cf_inode *inode)
{
	// Sequentially consistent: invariant B. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	return __atomic_load_n(&inode->state, __ATOMIC_SEQ_CST);
}

static void set_state__(struct cf_inode *inode, uint32_t set, uint32_t clear)
{
	// Sequentially consistent: invariant B. An exchange: in the lab a store is seen late.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	__atomic_exchange_n(&inode->state, (inode->state & ~clear) | set, __ATOMIC_SEQ_CST);
}

static int init_lists(struct cf_icache *c)
{
	const struct cf_lru_options options = { CF_VFS_LOCK_KIND, !CF_VFS_INODES_SPLIT, !CF_VFS_INODES_SPLIT };
	const struct cf_lru_options unused = { CF_VFS_LOCK_KIND, !CF_VFS_PERCPU, !CF_VFS_INODES_SPLIT };
	int result = cf_lru_init(&c->unused, &unused);
	result = result ? result : cf_lru_init(&c->dirty, &options);
	return result ? result : cf_lru_init(&c->all, &options);
}

static size_t size_of(const struct cf_icache *c)
{
	return c->ops && c->ops->size ? c->ops->size : sizeof(struct cf_inode);
}

static const char *type_of(const struct cf_icache *c)
{
	return c->ops && c->ops->type ? c->ops->type : "cf_inode";
}

// What was not made is zeroed: destroying it is harmless.
static void destroy_parts(struct cf_icache *c)
{
	cf_rhash_destroy(&c->hash);
	cf_vfs_count_destroy(&c->count);
	cf_numbers_destroy(&c->numbers);
	cf_holds_destroy(&c->holds);
	cf_lru_destroy(&c->all);
	cf_lru_destroy(&c->dirty);
	cf_lru_destroy(&c->unused);
	(void)cf_slab_destroy(&c->changes);
	(void)cf_slab_destroy(&c->memory);
}

int cf_icache_init(struct cf_icache *c, const struct cf_icache_ops *ops, void *owner, uint32_t buckets)
{
	enum { FIXED_BUCKETS = 1 << 16 };
	struct cf_rhash_options table = { .buckets = buckets };
	int result;
	if (!CF_VFS_INODES_SPLIT) {
		table.flags = CF_RHASH_EXTERNAL_LOCK;
		table.buckets = buckets ? buckets : FIXED_BUCKETS;
	}
	*c = (struct cf_icache){ .ops = ops, .owner = owner };
	cf_vfs_lock_init(&c->lock);
	result = cf_slab_init(&c->memory, &(struct cf_slab_options){ .name = type_of(c), .size = size_of(c), .align = CF_LINE });
	result = result ? result : cf_slab_init(&c->changes, &(struct cf_slab_options){ .name = "cf_inode_changes",
					.size = sizeof(struct cf_inode_changes), .align = CF_LINE });
	result = result ? result : init_lists(c);
	result = result ? result : cf_numbers_init(&c->numbers);
	result = result ? result : cf_holds_init(&c->holds);
	result = result ? result : cf_vfs_count_init(&c->count);
	result = result ? result : cf_rhash_init(&c->hash, &table);
	if (result)
		destroy_parts(c);
	return result;
}

int cf_icache_destroy(struct cf_icache *c)
{
	while (cf_icache_write_dirty(c, SIZE_MAX) || cf_icache_shrink(c, SIZE_MAX))
		;
	if (cf_icache_count(c))
		return -EBUSY;
	cf_rcu_barrier();
	destroy_parts(c);
	return 0;
}

uint64_t cf_icache_number(struct cf_icache *c)
{
	return cf_numbers_take(&c->numbers);
}

static struct cf_inode *alloc(struct cf_icache *c)
{
	struct cf_inode *inode = cf_slab_alloc(&c->memory);
	return inode ? memset(inode, 0, size_of(c)) : NULL;
}

static void release(struct cf_rcu_head *head)
{
	struct cf_inode *inode = INODE_OF(head, rcu);
	free((char *)(uintptr_t)inode->link);
	if (inode->changes)
		cf_slab_free(&inode->cache->changes, inode->changes);
	cf_slab_free(&inode->cache->memory, inode);
}

static struct cf_inode *new_inode(struct cf_icache *c, uint64_t number, uint32_t state)
{
	struct cf_inode *inode = alloc(c);
	struct cf_lock_node node;
	if (!inode)
		return NULL;
	inode->cache = c;
	inode->super = c->owner;
	inode->count = 1;
	inode->nlink = 1;
	inode->state = state;
	cf_vfs_lock_init(&inode->lock);
	cf_vfs_lock_init(&inode->names_lock);
	cf_vfs_sem_init(&inode->sem);
	cf_vfs_lock_take(lock_of(inode), &node);
	// In 2.6.35 the inode lock also covers the last number that was given.
	inode->number = number ? number : CF_VFS_INODES_SPLIT ? cf_numbers_take(&c->numbers) : c->numbers.next++;
	if (!CF_VFS_RCU_WALK) // nobody asks for the list of all inodes
		cf_lru_add(&c->all, &inode->all);
	cf_vfs_lock_drop(lock_of(inode), &node);
	cf_vfs_count_add(&c->count, 1);
	if (CF_VFS_RCU_WALK)
		cf_holds_use(&c->holds, cf_cpu_current());
	return inode;
}

struct cf_inode *cf_inode_new(struct cf_icache *c)
{
	return new_inode(c, 0, 0);
}

static uint32_t hash_of(uint64_t number)
{
	return (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

// Dead ones leave the table in a moment.
static bool same_number(const struct cf_rhash_entry *entry, const void *key)
{
	const struct cf_inode *inode = INODE_OF(entry, hash);
	return inode->number == *(const uint64_t *)key && (state_of(inode) & CF_INODE_HASHED);
}

static bool insert(struct cf_inode *inode, uint32_t state)
{
	struct cf_icache *c = inode->cache;
	struct cf_lock_node node;
	bool inserted;
	cf_vfs_lock_take(lock_of(inode), &node);
	set_state__(inode, state | CF_INODE_HASHED, 0);
	inserted = !cf_rhash_insert_unique(&c->hash, &inode->hash, hash_of(inode->number), same_number, &inode->number);
	if (!inserted)
		set_state__(inode, 0, CF_INODE_HASHED);
	cf_vfs_lock_drop(lock_of(inode), &node);
	return inserted;
}

int cf_inode_insert(struct cf_inode *inode)
{
	return insert(inode, 0) ? 0 : -EEXIST;
}

static void unhash__(struct cf_inode *inode)
{
	if (!(inode->state & CF_INODE_HASHED))
		return;
	set_state__(inode, 0, CF_INODE_HASHED);
	cf_rhash_remove(&inode->cache->hash, &inode->hash);
}

void cf_inode_unhash(struct cf_inode *inode)
{
	struct cf_lock_node node;
	cf_vfs_lock_take(lock_of(inode), &node);
	unhash__(inode);
	cf_vfs_lock_drop(lock_of(inode), &node);
}

bool cf_inode_grab(struct cf_inode *inode)
{
	return reference_grab(&inode->count);
}

static struct cf_inode *find(struct cf_icache *c, uint64_t number)
{
	struct cf_rhash_entry *entry;
	struct cf_inode *inode;
	struct cf_lock_node node;
	cf_rcu_read_lock();
	if (!CF_VFS_INODES_SPLIT)
		cf_vfs_lock_take(&c->lock, &node);
	entry = cf_rhash_find(&c->hash, hash_of(number), same_number, &number);
	inode = entry && cf_inode_grab(INODE_OF(entry, hash)) ? INODE_OF(entry, hash) : NULL;
	if (!CF_VFS_INODES_SPLIT)
		cf_vfs_lock_drop(&c->lock, &node);
	cf_rcu_read_unlock();
	return inode;
}

// False: it could not be filled, and the caller's reference is put.
static bool wait_filled(struct cf_inode *inode)
{
	CF_LOCK_WAIT_UNTIL(!(state_of(inode) & CF_INODE_NEW));
	if (state_of(inode) & CF_INODE_HASHED)
		return true;
	cf_inode_put(inode);
	return false;
}

struct cf_inode *cf_inode_lookup(struct cf_icache *c, uint64_t number)
{
	struct cf_inode *inode;
	while ((inode = find(c, number)) != NULL && !wait_filled(inode))
		;
	return inode;
}

struct cf_inode *cf_inode_get_or_new(struct cf_icache *c, uint64_t number, bool *made)
{
	struct cf_inode *inode, *fresh = NULL;
	*made = false;
	for (;;) {
		inode = cf_inode_lookup(c, number);
		if (inode || (!fresh && !(fresh = new_inode(c, number, 0))))
			break;
		if (insert(fresh, CF_INODE_NEW)) {
			*made = true;
			return fresh;
		}
		set_state__(fresh, 0, CF_INODE_NEW);
	}
	if (fresh)
		cf_inode_put(fresh);
	return inode;
}

void cf_inode_done(struct cf_inode *inode)
{
	struct cf_lock_node node;
	cf_vfs_lock_take(lock_of(inode), &node);
	set_state__(inode, 0, CF_INODE_NEW); // what it was filled with before those who wait read it
	cf_vfs_lock_drop(lock_of(inode), &node);
}

void cf_inode_failed(struct cf_inode *inode)
{
	cf_inode_unhash(inode);
	cf_inode_done(inode);
	cf_inode_put(inode);
}

// --- The end of an inode.

// Nobody gets it any more. The lock is held, and dropped by the caller.
static bool kill__(struct cf_inode *inode)
{
	if (!reference_take_all(&inode->count, 0))
		return false;
	unhash__(inode);
	set_state__(inode, CF_INODE_DEAD, 0);
	return true;
}

static void evict(struct cf_inode *inode)
{
	struct cf_icache *c = inode->cache;
	struct cf_lock_node node;
	cf_vfs_lock_take(lock_of(inode), &node);
	if (!CF_VFS_RCU_WALK)
		cf_lru_remove(&c->all, &inode->all);
	cf_lru_remove(&c->dirty, &inode->dirty);
	cf_vfs_lock_drop(lock_of(inode), &node);
	if (c->ops && c->ops->evict)
		c->ops->evict(inode);
	cf_vfs_count_add(&c->count, -1);
	cf_rcu_call(&inode->rcu, release);
}

static bool worth_keeping(const struct cf_inode *inode)
{
	return __atomic_load_n(&inode->nlink, __ATOMIC_RELAXED) && (state_of(inode) & CF_INODE_HASHED);
}

// The count was 0 a moment ago; the lock is held. True: the caller evicts it.
static bool unused__(struct cf_inode *inode)
{
	if (reference_count(&inode->count))
		return false;
	if (!worth_keeping(inode)) {
		if (!kill__(inode))
			return false;
		cf_lru_remove(&inode->cache->unused, &inode->unused);
		return true;
	}
	set_state__(inode, CF_INODE_REFERENCED, 0);
	cf_lru_add(&inode->cache->unused, &inode->unused);
	return false;
}

// False: it was the last, and it is not on the list, marked as used, and worth keeping, as most are.
static bool put_without_lock(struct cf_inode *inode)
{
	if (!reference_put(&inode->count))
		return true;
	CF_TEST_POINT("inode: put");
	return cf_lru_listed(&inode->unused) && (state_of(inode) & CF_INODE_REFERENCED) && worth_keeping(inode); // invariant B
}

// In the read section that its caller began.
static void put_locked(struct cf_inode *inode)
{
	struct cf_lock_node node;
	bool dead;
	cf_vfs_lock_take(lock_of(inode), &node);
	if (!CF_VFS_INODES_SPLIT)
		(void)reference_put(&inode->count);
	dead = unused__(inode);
	cf_vfs_lock_drop(lock_of(inode), &node);
	cf_rcu_read_unlock();
	if (dead)
		evict(inode);
}

// 2.6.35 takes the inode lock for every last put.
void cf_inode_put(struct cf_inode *inode)
{
	if (!inode || (!CF_VFS_INODES_SPLIT && reference_put_not_last(&inode->count)))
		return;
	cf_rcu_read_lock(); // from count 0 on only this keeps the memory
	if (CF_VFS_INODES_SPLIT && put_without_lock(inode))
		cf_rcu_read_unlock();
	else
		put_locked(inode);
}

// --- Lists.

static bool try_lock(struct cf_inode *inode, struct cf_lock_node *node)
{
	return !CF_VFS_INODES_SPLIT || cf_vfs_lock_try(&inode->lock, node);
}

static void drop_tried(struct cf_inode *inode, struct cf_lock_node *node)
{
	if (CF_VFS_INODES_SPLIT)
		cf_vfs_lock_drop(&inode->lock, node);
}

static enum cf_lru_answer age__(struct cf_lru_list *list, struct cf_inode *inode)
{
	if (reference_count(&inode->count) > 0) {
		CF_TEST_POINT("inode: isolating");
		cf_lru_isolate__(&inode->unused);
		if (reference_count(&inode->count) > 0) // invariant B
			return CF_LRU_GONE;
		cf_lru_restore__(&inode->cache->unused, list, &inode->unused);
		return CF_LRU_BUSY;
	}
	if (inode->state & (CF_INODE_REFERENCED | CF_INODE_DIRTY)) {
		set_state__(inode, 0, CF_INODE_REFERENCED);
		return CF_LRU_ROTATE;
	}
	return kill__(inode) ? CF_LRU_REMOVE : CF_LRU_KEEP;
}

static enum cf_lru_answer age(struct cf_lru_list *list, struct cf_lru_link *link, void *argument)
{
	struct cf_inode *inode = INODE_OF(link, unused);
	struct cf_lock_node node;
	enum cf_lru_answer answer;
	(void)argument;
	if (!try_lock(inode, &node))
		return CF_LRU_BUSY;
	answer = age__(list, inode);
	drop_tried(inode, &node);
	return answer;
}

// Policies with one inode lock hold it around a scan.
static size_t scan(struct cf_icache *c, struct cf_lru *lru, size_t most, cf_lru_callback *callback, void *argument,
		   struct cf_lru_link **gone)
{
	struct cf_lock_node node;
	size_t count;
	if (!CF_VFS_INODES_SPLIT)
		cf_vfs_lock_take(&c->lock, &node);
	count = cf_lru_scan(lru, most, callback, argument, gone);
	if (!CF_VFS_INODES_SPLIT)
		cf_vfs_lock_drop(&c->lock, &node);
	return count;
}

size_t cf_icache_shrink(struct cf_icache *c, size_t most)
{
	struct cf_lru_link *gone = NULL;
	size_t count = scan(c, &c->unused, most, age, NULL, &gone);
	if (!count) // all of them had been used since: now they are old
		count = scan(c, &c->unused, most, age, NULL, &gone);
	while (gone) {
		struct cf_inode *inode = INODE_OF(gone, unused);
		gone = gone->next;
		evict(inode);
	}
	return count;
}

size_t cf_icache_unused(const struct cf_icache *c)
{
	return cf_lru_count(&c->unused);
}

int64_t cf_icache_count(struct cf_icache *c)
{
	return cf_vfs_count_sum(&c->count);
}

void cf_inode_mark_dirty(struct cf_inode *inode)
{
	struct cf_lock_node node;
	if (state_of(inode) & CF_INODE_DIRTY)
		return;
	cf_vfs_lock_take(lock_of(inode), &node);
	if (!(inode->state & CF_INODE_DIRTY)) {
		set_state__(inode, CF_INODE_DIRTY, 0);
		cf_lru_add(&inode->cache->dirty, &inode->dirty);
	}
	cf_vfs_lock_drop(lock_of(inode), &node);
}

enum { WRITES_AT_ONCE = 32 };

struct dirty_inodes {
	struct cf_inode *inode[WRITES_AT_ONCE];
	size_t count, most;
};

// Takes a reference and clears the mark: changes from now on mark it again.
static enum cf_lru_answer collect(struct cf_lru_list *list, struct cf_lru_link *link, void *argument)
{
	struct dirty_inodes *dirty = argument;
	struct cf_inode *inode = INODE_OF(link, dirty);
	struct cf_lock_node node;
	enum cf_lru_answer answer = CF_LRU_KEEP;
	(void)list;
	if (dirty->count == dirty->most)
		return CF_LRU_STOP;
	if (!try_lock(inode, &node))
		return CF_LRU_BUSY;
	if (cf_inode_grab(inode)) {
		set_state__(inode, 0, CF_INODE_DIRTY);
		cf_lru_isolate__(link);
		dirty->inode[dirty->count++] = inode;
		answer = CF_LRU_GONE;
	}
	drop_tried(inode, &node);
	return answer;
}

static size_t write_all(struct cf_icache *c, struct dirty_inodes *dirty)
{
	size_t written = 0;
	for (size_t i = 0; i < dirty->count; i++) {
		if (!c->ops || !c->ops->write || c->ops->write(dirty->inode[i]) == 0)
			written++;
		else
			cf_inode_mark_dirty(dirty->inode[i]);
		cf_inode_put(dirty->inode[i]);
	}
	return written;
}

size_t cf_icache_write_dirty(struct cf_icache *c, size_t most)
{
	size_t written = 0, now = 1;
	while (written < most && now) {
		size_t left = most - written;
		struct dirty_inodes dirty = { .count = 0, .most = left < WRITES_AT_ONCE ? left : WRITES_AT_ONCE };
		scan(c, &c->dirty, SIZE_MAX, collect, &dirty, NULL);
		now = write_all(c, &dirty);
		written += now;
	}
	return written;
}
