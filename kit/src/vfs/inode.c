// SPDX-License-Identifier: MIT OR Apache-2.0
// An inode's attributes: written under its lock between attr_write_begin and _end, read by everybody.
#include "vfs.h"

static const int64_t DAY = INT64_C(24) * 60 * 60 * 1000000000;

static struct cf_time time_of(int64_t ns)
{
	int64_t sec = ns / 1000000000 - (ns % 1000000000 < 0);
	return (struct cf_time){ sec, ns - sec * 1000000000 };
}

void cf_inode_stat(const struct cf_inode *inode, struct cf_stat *s)
{
	uint32_t seq;
	do {
		seq = cf_inode_attr_begin(inode);
		*s = (struct cf_stat){ .ino = inode->number };
		s->mode = CF_INODE_LOAD(inode, mode);
		s->nlink = CF_INODE_LOAD(inode, nlink);
		s->uid = CF_INODE_LOAD(inode, uid);
		s->gid = CF_INODE_LOAD(inode, gid);
		s->size = (int64_t)CF_INODE_LOAD(inode, size);
		s->blocks = (int64_t)CF_INODE_LOAD(inode, blocks);
		s->atime = time_of(CF_INODE_LOAD(inode, atime));
		s->mtime = time_of(CF_INODE_LOAD(inode, mtime));
		s->ctime = time_of(CF_INODE_LOAD(inode, ctime));
	} while (cf_inode_attr_changed(inode, seq));
}

static void begin(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_lock(inode, node);
	cf_inode_attr_write_begin(inode);
}

static void end(struct cf_inode *inode, struct cf_lock_node *node)
{
	cf_inode_attr_write_end(inode);
	cf_inode_unlock(inode, node);
}

// relatime: only when the file has changed since, or a day has gone by. So reads of a file that rests store nothing.
void cf_inode_touch_read(struct cf_inode *inode)
{
	int64_t atime = CF_INODE_LOAD(inode, atime), now;
	struct cf_lock_node node;
	if (atime > CF_INODE_LOAD(inode, mtime) && atime > CF_INODE_LOAD(inode, ctime)) {
		now = cf_vfs_now(vfs_of(inode));
		if (now - atime < DAY)
			return;
	} else {
		now = cf_vfs_now(vfs_of(inode));
		if (atime == now)
			return;
	}
	begin(inode, &node);
	CF_INODE_STORE(inode, atime, now);
	end(inode, &node);
}

// Within one tick of the clock only the first write stores.
void cf_inode_touch_write(struct cf_inode *inode)
{
	int64_t now = cf_vfs_now(vfs_of(inode));
	struct cf_lock_node node;
	if (CF_INODE_LOAD(inode, mtime) == now && CF_INODE_LOAD(inode, ctime) == now)
		return;
	begin(inode, &node);
	CF_INODE_STORE(inode, mtime, now);
	CF_INODE_STORE(inode, ctime, now);
	end(inode, &node);
}

void cf_inode_touch_change(struct cf_inode *inode)
{
	cf_inode_set(inode, &(struct cf_attr){ .valid = 0 });
}

void cf_inode_set(struct cf_inode *inode, const struct cf_attr *attr)
{
	struct cf_lock_node node;
	begin(inode, &node);
	if (attr->valid & CF_ATTR_MODE)
		CF_INODE_STORE(inode, mode, (inode->mode & S_IFMT) | (attr->mode & 07777));
	if (attr->valid & CF_ATTR_UID)
		CF_INODE_STORE(inode, uid, attr->uid);
	if (attr->valid & CF_ATTR_GID)
		CF_INODE_STORE(inode, gid, attr->gid);
	if (attr->valid & CF_ATTR_ATIME)
		CF_INODE_STORE(inode, atime, attr->atime);
	if (attr->valid & CF_ATTR_MTIME)
		CF_INODE_STORE(inode, mtime, attr->mtime);
	CF_INODE_STORE(inode, ctime, cf_vfs_now(vfs_of(inode)));
	end(inode, &node);
}

bool cf_inode_add_links(struct cf_inode *inode, int links, bool from_none)
{
	struct cf_lock_node node;
	bool may;
	begin(inode, &node);
	may = inode->nlink || from_none;
	if (may) {
		CF_INODE_STORE(inode, nlink, inode->nlink + (uint32_t)links);
		CF_INODE_STORE(inode, ctime, cf_vfs_now(vfs_of(inode)));
	}
	end(inode, &node);
	return may;
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
