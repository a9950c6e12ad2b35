/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cf_vfs_types.h: structures returned by cf_vfs.h, and what files are charged against its memory limit. */
#ifndef COREFOLD_CF_VFS_TYPES_H
#define COREFOLD_CF_VFS_TYPES_H

#include <corefold/cf_shim.h>

CF_EXTERN_BEGIN

struct cf_time {
	int64_t sec;
	int64_t nsec;
};

struct cf_stat {
	uint64_t ino;
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid, gid;
	int64_t size;   /* bytes; of a directory: entries */
	int64_t blocks; /* of 512 bytes: existing pages, not holes */
	struct cf_time atime, mtime, ctime;
};

struct cf_statvfs {
	uint64_t bsize; /* unit of the next three */
	int64_t blocks, bfree, bavail;
	int64_t files, ffree;
	uint64_t namemax;
};

enum { CF_NAME_MAX = 255, CF_PATH_MAX = 4096, CF_LINKS_MAX = 40, CF_PAGE = 4096, CF_PIPE_SIZE = 65536 };

struct cf_dirent {
	uint64_t ino;
	int64_t next;  /* lseek to it continues behind this entry */
	uint32_t type; /* S_IFMT bits of its mode */
	uint32_t length;
	char name[CF_NAME_MAX + 1];
};

/*
 * Bytes charged against the memory limit, at least what an object needs. A directory's charge includes the dentry that its
 * users hold. Cached dentries are charged their size, and freed when their bytes are needed.
 */
enum {
	CF_CHARGE_INODE = 1024,
	CF_CHARGE_DIRECTORY = 4096, /* beside its inode's */
	CF_CHARGE_NODE = 640,       /* of a file's tree of pages: 64 pointers and a head */
	CF_CHARGE_STREAM = 65536 + 2048, /* a pipe's buffer and inode; a socket has one. Of a FIFO from its first open on */
};

/* A name of a directory, and a symbolic link's target. */
static inline int64_t cf_charge_name(size_t length)
{
	return 96 + (int64_t)(length + 15) / 16 * 16;
}

CF_EXTERN_END

#endif
