// SPDX-License-Identifier: MIT OR Apache-2.0
// The time of a file's last change, in parts once it has several names.
#include <corefold/cf_icache.h>

void cf_inode_part_changes(struct cf_inode *inode)
{
	struct cf_slab *memory = &inode->cache->changes;
	struct cf_inode_changes *changes, *none = NULL;
	int64_t time = CF_INODE_LOAD(inode, ctime);
	if (!CF_VFS_RCU_WALK || CF_INODE_LOAD(inode, changes) || !(changes = cf_slab_alloc(memory)))
		return;
	for (int i = 0; i < CF_CHANGE_PARTS; i++)
		changes->part[i].time = time; // no later than the inode's
	CF_TEST_POINT("changes: made");
	// Release: the times before the pointer; pairs with the acquire of who loads it. Two links at once: the first one's stays.
	if (!__atomic_compare_exchange_n(&inode->changes, &none, changes, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		cf_slab_free(memory, changes);
	CF_TEST_POINT("changes: parted");
}

int64_t *cf_inode_change_time(struct cf_inode *inode)
{
	struct cf_inode_changes *changes = CF_INODE_LOAD(inode, changes);
	return changes ? &changes->part[cf_cpu_current() % CF_CHANGE_PARTS].time : &inode->ctime;
}

// Each part's times only grow, as the clock does: what is returned was the latest at some moment of this call.
int64_t cf_inode_last_change(const struct cf_inode *inode)
{
	const struct cf_inode_changes *changes = CF_INODE_LOAD(inode, changes);
	int64_t last = CF_INODE_LOAD(inode, ctime);
	for (int i = 0; changes && i < CF_CHANGE_PARTS; i++) {
		// Acquire: as all attributes, before the sequence is looked at again. x86 cannot tell, its loads stay in order; aarch64
		// and POWER can.
		int64_t time = __atomic_load_n(&changes->part[i].time, __ATOMIC_ACQUIRE);
		last = time > last ? time : last;
	}
	return last;
}
