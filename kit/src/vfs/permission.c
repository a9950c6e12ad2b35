// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_dcache.h>

#include <errno.h>
#include <sys/stat.h>

static bool in_group(const struct cf_cred *cred, uint32_t gid)
{
	if (cred->gid == gid)
		return true;
	for (uint32_t i = 0; i < cred->group_count; i++)
		if (cred->groups[i] == gid)
			return true;
	return false;
}

// What the privileged may not: execute a file that nobody may.
static int privileged(uint32_t mode, uint32_t mask)
{
	return S_ISDIR(mode) || !(mask & CF_MAY_EXEC) || (mode & (S_IXUSR | S_IXGRP | S_IXOTH)) ? 0 : -EACCES;
}

int cf_inode_permission(struct cf_inode *inode, uint32_t mask, const struct cf_cred *cred, bool may_wait)
{
	uint32_t mode;
	if (inode->ops && inode->ops->permission)
		return inode->ops->permission(inode, mask, cred, may_wait);
	mode = CF_INODE_LOAD(inode, mode);
	if (cred->privileged)
		return privileged(mode, mask);
	if (cred->uid == CF_INODE_LOAD(inode, uid))
		mode >>= 6;
	else if (in_group(cred, CF_INODE_LOAD(inode, gid)))
		mode >>= 3;
	return mask & ~mode & 7 ? -EACCES : 0;
}
