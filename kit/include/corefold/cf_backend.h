/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_backend.h: the storage below the caches of cf_vfs.h, as tables of operations: cf_inode_ops (cf_dcache.h) for names
 * and attributes, cf_file_ops for contents. The kit has two backends: memory (cf_backend_memory) and pass-through to a
 * directory (cf_backend_directory).
 *
 * Choose it to put a store of your own under the caches. cf_vfs has checked permissions, types and names before it calls.
 * All operations return 0 or more, or -errno.
 *
 * Cost: on a cache hit (a repeated lookup, a path walk, stat) the backend is not called. A name that is not cached costs one
 * lookup, however many callers request it at once.
 *
 *   operation                        may overlap                          the caller holds
 *   lookup                           all but lookups of this name         the name's lock, or the directory's sem, shared
 *   create, mkdir, symlink, link,    everything but what changes these    the names' locks, or their directories' sems,
 *     unlink, rmdir, rename            names                                exclusively
 *   readlink, setattr, permission    everything                           a reference (permission: see there)
 *   read, write, seek                everything, also of this file        a read section, or a reference where it `waits`
 *   readdir                          changes of names, unless the sem is  a reference, the directory's sem, shared
 *                                      their lock
 *   open, release, sync              everything                           a reference
 *   mount, unmount                   nothing
 *
 * Guarantees to a backend: 1. Operations on one name do not overlap. 2. An inode passed to an operation is referenced until
 * the operation returns. 3. evict (cf_icache_ops) is called once, after all other operations on that inode.
 *
 * Lifetime: tables are constant while the file system exists.
 *
 * Five lines:
 *   static const struct cf_backend mine = { .icache_ops = &sizes, .mount = make_root };
 *   struct cf_vfs_options options = { .backend = &mine, .backend_argument = store };
 *   cf_vfs_new(&fs, &options);
 *   ... calls of cf_vfs.h ...
 *   cf_vfs_free(fs);
 *
 * Source: Linux's inode_operations and file_operations, as far as they are needed here.
 */
#ifndef COREFOLD_CF_BACKEND_H
#define COREFOLD_CF_BACKEND_H

#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

CF_EXTERN_BEGIN

struct cf_file;

struct cf_file_ops {
	/* Called in a read section, or, if `waits` is set, with a reference; then it may block. */
	int64_t (*read)(struct cf_file *file, void *to, size_t size, int64_t offset);
	/* *offset: where; set by the backend when `append`. */
	int64_t (*write)(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append);
	/* SEEK_DATA and SEEK_HOLE. Null: all is data. */
	int64_t (*seek)(struct cf_file *file, int64_t offset, bool hole);
	/*
	 * Entries other than "." and "..", at positions from `position` on (2 is the first); an entry's `next` is greater than
	 * its position, and stays valid as long as the directory exists. The directory's sem is held shared.
	 */
	int (*readdir)(struct cf_file *file, int64_t position, struct cf_dirent *entries, int most);
	/* Each may be null. */
	int (*open)(struct cf_file *file);
	void (*release)(struct cf_file *file);
	int (*sync)(struct cf_file *file);
	bool waits;  /* may block: outside of read sections */
	bool stream; /* without a position: pipes, sockets */
};

/* An open file: what descriptors share. */
struct cf_file {
	struct cf_inode *inode;       /* constant, held */
	struct cf_dentry *dentry;     /* constant, referenced; directories only */
	const struct cf_file_ops *ops; /* constant */
	struct cf_vfs *vfs;           /* constant */
	void *private_data;           /* the backend's */
	int flags;                    /* of open: O_APPEND, O_NONBLOCK, ... */
	bool reads, writes;           /* constant */
	uint32_t hold;                /* constant: the inode's (cf_inode_hold) */
	/* Not accessed by calls that pass an offset. */
	int64_t position CF_LINE_ALIGNED; /* stored under `lock` */
	struct cf_lock lock;
	struct cf_lru_link link;      /* of all open files */
	struct cf_rcu_head rcu CF_LINE_ALIGNED;
	int32_t count;                /* descriptors and calls under way; atomic */
};

struct cf_backend {
	const struct cf_icache_ops *icache_ops;
	/* The root directory, referenced. */
	int (*mount)(struct cf_vfs *vfs, void *argument, struct cf_inode **root);
	/* Drops the backend's references on inodes. Null: it has none. */
	void (*unmount)(struct cf_vfs *vfs, struct cf_inode *root);
	/* Null: the limits that cf_vfs was made with. */
	int (*statvfs)(struct cf_vfs *vfs, struct cf_statvfs *stat);
};

extern const struct cf_backend cf_backend_memory;
/* backend_argument: const char *, a directory's path. Names are looked up below it and never above (openat2 is not needed:
 * a name has no slashes, and links are not followed). */
extern const struct cf_backend cf_backend_directory;

CF_EXTERN_END

#endif
