// SPDX-License-Identifier: MIT OR Apache-2.0
// An inode's attributes: written under its lock between attr_write_begin and _end, read by everybody.
#include "vfs.h"

static const int64_t DAY = INT64_C(24) * 60 * 60 * 1000000000;

void cf_inode_stat(const struct cf_inode *inode, struct cf_stat *s)
{
	const struct cf_inode_ops *ops = inode->ops;
	struct cf_inode_seqs seqs;
	do {
		int64_t changed, written, named = INT64_MIN, mtime;
		seqs = cf_inode_attr_begin(inode);
		*s = (struct cf_stat){ .ino = inode->number };
		s->mode = CF_INODE_LOAD(inode, mode);
		s->nlink = CF_INODE_LOAD(inode, nlink);
		s->uid = CF_INODE_LOAD(inode, uid);
		s->gid = CF_INODE_LOAD(inode, gid);
		s->size = (int64_t)CF_INODE_LOAD(inode, size);
		s->blocks = (int64_t)CF_INODE_LOAD(inode, blocks);
		s->atime = cf_time_of(CF_INODE_LOAD(inode, atime));
		if (S_ISDIR(s->mode) && ops && ops->tally)
			ops->tally(inode, &s->size, &named);
		mtime = CF_INODE_LOAD(inode, mtime);
		s->mtime = cf_time_of(named > mtime ? named : mtime);
		changed = cf_inode_last_change(inode);
		written = CF_INODE_LOAD(inode, wtime);
		written = named > written ? named : written;
		s->ctime = cf_time_of(changed > written ? changed : written);
	} while (cf_inode_attr_changed(inode, seqs));
}

static void begin(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_lock(inode, node);
	cf_inode_attr_write_begin(&inode->used_seq);
}

static void end(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_attr_write_end(&inode->used_seq);
	cf_inode_unlock(inode, node);
}

static void begin_names(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_names_lock(inode, node);
	cf_inode_attr_write_begin(&inode->names_seq);
}

static void end_names(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_attr_write_end(&inode->names_seq);
	cf_inode_names_unlock(inode, node);
}

// Looks at the times of changes last: mostly one of the others has decided.
static bool was_read_since(const struct cf_inode *inode, int64_t atime)
{
	return atime > CF_INODE_LOAD(inode, mtime) && atime > CF_INODE_LOAD(inode, wtime) && atime > cf_inode_last_change(inode);
}

// False: *atime is another one by now.
static bool change_atime(struct cf_inode *inode, int64_t *atime, int64_t now)
{
	struct cf_lock_node node;
	CF_TEST_POINT("inode: read");
	if (CF_VFS_RCU_WALK) {
		if (CF_INODE_LOAD(inode, unread))
			CF_INODE_STORE(inode, unread, 0);
		// Release: `unread` before the time. x86 cannot tell, its stores stay in order; aarch64 and POWER can.
		return __atomic_compare_exchange_n(&inode->atime, atime, now, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE);
	}
	begin(inode, &node);
	CF_INODE_STORE(inode, atime, now);
	end(inode, &node);
	return true;
}

// relatime: only when the file has changed since, or a day has gone by. So reads of a file that rests store nothing, and the first
// one of a new file looks at no time that a write stores.
void cf_inode_touch_read(struct cf_inode *inode)
{
	int64_t now = cf_vfs_now(vfs_of(inode)), atime = CF_INODE_LOAD(inode, atime);
	bool recent;
	do {
		recent = !(CF_VFS_RCU_WALK && CF_INODE_LOAD(inode, unread)) && was_read_since(inode, atime);
		if (recent ? atime > now - DAY : atime == now)
			return;
	} while (!change_atime(inode, &atime, now));
}

// Within one tick of the clock only the first write stores.
void cf_inode_touch_write(struct cf_inode *inode)
{
	int64_t now = cf_vfs_now(vfs_of(inode));
	struct cf_lock_node node;
	if (CF_INODE_LOAD(inode, mtime) == now && CF_INODE_LOAD(inode, wtime) == now)
		return;
	begin(inode, &node);
	CF_INODE_STORE(inode, mtime, now);
	CF_INODE_STORE(inode, wtime, now);
	end(inode, &node);
}

void cf_inode_touch_at(struct cf_inode *inode, int64_t time)
{
	struct cf_lock_node node;
	if (CF_INODE_LOAD(inode, mtime) >= time && CF_INODE_LOAD(inode, wtime) >= time)
		return;
	begin(inode, &node);
	if (inode->mtime < time)
		CF_INODE_STORE(inode, mtime, time);
	if (inode->wtime < time)
		CF_INODE_STORE(inode, wtime, time);
	end(inode, &node);
}

// As above, without a lock: it is one word, which only grows. 2.6.35 stores it each time.
static void set_ctime(struct cf_inode *inode)
{
	int64_t now = cf_vfs_now(vfs_of(inode)), *time = cf_inode_change_time(inode), last;
	if (!CF_VFS_RCU_WALK) {
		CF_INODE_STORE(inode, ctime, now);
		return;
	}
	last = __atomic_load_n(time, __ATOMIC_RELAXED); // relaxed: the exchange decides
	CF_TEST_POINT("inode: changed");
	// Release: as all attributes, after the odd sequence number. x86 cannot tell, its stores stay in order; aarch64 and POWER can.
	while (last < now && !__atomic_compare_exchange_n(time, &last, now, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void cf_inode_touch_change(struct cf_inode *inode)
{
	if (CF_VFS_RCU_WALK)
		set_ctime(inode);
	else
		cf_inode_set(inode, &(struct cf_attr){ .valid = 0 });
}

static void set_times(struct cf_inode *inode, const struct cf_attr *attr)
{
	if (attr->valid & CF_ATTR_ATIME) {
		CF_INODE_STORE(inode, unread, 0);
		CF_INODE_STORE(inode, atime, attr->atime);
	}
	if (attr->valid & CF_ATTR_MTIME)
		CF_INODE_STORE(inode, mtime, attr->mtime);
}

static void set_names_group(struct cf_inode *inode, const struct cf_attr *attr)
{
	if (attr->valid & CF_ATTR_MODE)
		CF_INODE_STORE(inode, mode, (inode->mode & S_IFMT) | (attr->mode & 07777));
	if (attr->valid & CF_ATTR_UID)
		CF_INODE_STORE(inode, uid, attr->uid);
	if (attr->valid & CF_ATTR_GID)
		CF_INODE_STORE(inode, gid, attr->gid);
	set_ctime(inode);
}

void cf_inode_set(struct cf_inode *inode, const struct cf_attr *attr)
{
	bool times = attr->valid & (CF_ATTR_ATIME | CF_ATTR_MTIME);
	struct cf_lock_node names, node;
	begin_names(inode, &names);
	if (times) {
		if (CF_VFS_RCU_WALK)
			cf_inode_lock(inode, &node);
		cf_inode_attr_write_begin(&inode->used_seq);
		set_times(inode, attr);
	}
	set_names_group(inode, attr);
	if (times) {
		cf_inode_attr_write_end(&inode->used_seq);
		if (CF_VFS_RCU_WALK)
			cf_inode_unlock(inode, &node);
	}
	end_names(inode, &names);
}

bool cf_inode_add_links(struct cf_inode *inode, int links, bool from_none)
{
	struct cf_lock_node node;
	bool may;
	begin_names(inode, &node);
	may = inode->nlink || from_none;
	if (may) {
		CF_INODE_STORE(inode, nlink, inode->nlink + (uint32_t)links);
		set_ctime(inode);
	}
	end_names(inode, &node);
	return may;
}

// st_size of a directory is its number of entries. The caller holds its sem.
void cf_inode_add_entries(struct cf_inode *dir, int64_t entries)
{
	int64_t now = cf_vfs_now(vfs_of(dir));
	struct cf_lock_node node;
	begin(dir, &node);
	cf_inode_attr_write_begin(&dir->size_seq);
	CF_INODE_STORE(dir, size, dir->size + (uint64_t)entries);
	CF_INODE_STORE(dir, mtime, now);
	CF_INODE_STORE(dir, wtime, now);
	cf_inode_attr_write_end(&dir->size_seq);
	end(dir, &node);
}

bool cf_cred_in_group(const struct cf_cred *cred, uint32_t gid)
{
	for (uint32_t i = 0; i < cred->group_count; i++)
		if (cred->groups[i] == gid)
			return true;
	return cred->gid == gid;
}

bool cf_cred_owns(const struct cf_cred *cred, const struct cf_inode *inode)
{
	return cred->privileged || cred->uid == CF_INODE_LOAD(inode, uid);
}

// The bits that a change by someone else takes away.
void cf_inode_drop_privileges(struct cf_inode *inode, const struct cf_cred *cred)
{
	uint32_t mode = CF_INODE_LOAD(inode, mode), without = mode;
	if (cred->privileged || !S_ISREG(mode) || !(mode & (S_ISUID | S_ISGID)))
		return;
	if ((mode & S_IXGRP) || !cf_cred_in_group(cred, CF_INODE_LOAD(inode, gid)))
		without &= ~(uint32_t)S_ISGID;
	without &= ~(uint32_t)S_ISUID;
	if (without != mode)
		cf_inode_set(inode, &(struct cf_attr){ .valid = CF_ATTR_MODE, .mode = without });
}
