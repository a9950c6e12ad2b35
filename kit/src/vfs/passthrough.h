/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Between the parts of the backend that passes through to a directory.
#ifndef CF_VFS_PASSTHROUGH_H
#define CF_VFS_PASSTHROUGH_H

#include "vfs.h"

#include <stdio.h>

enum { FD_PATH = 32 };

static inline int fd_of(const struct cf_inode *inode)
{
	return (int)(intptr_t)inode->private_data - 1;
}

// A path that leads to the file itself, also where it is a link.
static inline const char *path_of(const struct cf_inode *inode, char path[FD_PATH])
{
	snprintf(path, FD_PATH, "/proc/self/fd/%d", fd_of(inode));
	return path;
}

static inline int answer(int64_t result)
{
	return result < 0 ? -errno : (int)result;
}

// Takes over the attributes that the file has now.
void cf_passthrough_refresh(struct cf_inode *inode);
// passthrough_files.c; null: it cannot be opened.
const struct cf_file_ops *cf_passthrough_file_ops(uint32_t mode);

#endif
