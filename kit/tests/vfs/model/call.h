// SPDX-License-Identifier: MIT OR Apache-2.0
// One call of a file system as data, so that several implementations can make the same calls and their results be
// compared: the model (model.h), the real kernel (kernel.h), and cf_vfs (ours.h).
#ifndef KIT_TESTS_VFS_CALL_H
#define KIT_TESTS_VFS_CALL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_vfs_types.h>
#include <stdbool.h>
#include <stdio.h>

enum op {
	OP_OPEN, OP_CLOSE, OP_DUP, OP_DUP2, OP_PIPE, OP_READ, OP_WRITE, OP_PREAD, OP_PWRITE, OP_LSEEK, OP_FTRUNCATE,
	OP_TRUNCATE, OP_FSYNC, OP_READDIR, OP_FSTATAT, OP_FSTAT, OP_STATVFS, OP_LINK, OP_UNLINK, OP_RENAME, OP_MKDIR,
	OP_MKNOD, OP_SYMLINK, OP_READLINK, OP_CHMOD, OP_FCHMOD, OP_CHOWN, OP_FCHOWN, OP_UTIMENS, OP_ACCESS, OP_CHDIR,
	OP_FCHDIR, OP_UMASK, OPS
};

enum { CALL_BYTES = 20000, MODEL_TASKS = 3 };

struct call {
	enum op op;
	int task;               // which of the implementation's tasks makes it
	int fd, fd2;            // descriptors, or the directories that paths start from
	const char *path, *path2;
	int flags;
	uint32_t mode, uid, gid;
	int64_t offset;         // or size
	uint32_t size;          // of reads and writes
	uint8_t fill;           // writes: byte i is (uint8_t)(fill + i)
	struct cf_time times[2];
};

// Whatever a call does not return stays 0.
struct result {
	int64_t value;          // what the call returns: 0 or more, or -errno
	struct cf_stat stat;
	struct cf_statvfs space;
	int fds[2];
	uint64_t bytes;         // hash of what was read, of a link's target, or of a directory's sorted names, numbers and types
};

struct cred {
	uint32_t uid, gid, groups[4], group_count;
};

struct implementation {
	const char *name;
	void *self;
	void (*call)(void *self, const struct call *call, struct result *result);
};

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 1099511628211u;
	return hash;
}

enum { HASH_START = 1469598103 };

static inline void fill_bytes(const struct call *c, uint8_t *to)
{
	for (uint32_t i = 0; i < c->size; i++)
		to[i] = (uint8_t)(c->fill + i);
}

void call_print(FILE *to, const struct call *call, const struct result *result);
// Compares; false and why if they differ.
struct comparison {
	bool times, numbers, space; // whether stamps, inode numbers and free space are comparable
};
const char *result_differs(const struct result *a, const struct result *b, const struct comparison *what);

#endif
