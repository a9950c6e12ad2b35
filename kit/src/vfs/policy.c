// SPDX-License-Identifier: MIT OR Apache-2.0
#include <corefold/cf_vfs_policy.h>

const char *cf_vfs_policy_name(void)
{
	static const char *const names[] = { "base-2.6.35", "files", "inodes", "dentries", "percpu", "rcu-walk" };
	return names[CF_VFS_POLICY];
}
