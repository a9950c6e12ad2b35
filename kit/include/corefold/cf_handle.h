/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_handle.h: handles of files of cf_vfs.h, for a file server whose clients name files by handles, not by paths. A handle
 * stays valid when names change, and when the last name is removed.
 *
 * Choose it for a server whose protocol names files by numbers or handles (FUSE, NFS). With paths, use cf_vfs.h.
 *
 * Cost: a handle holds a reference on the inode, and for a directory on its dentry. Taking and dropping one is an atomic
 * operation on each, on lines that all users of the file share. Lookup is one step of a walk (cf_walk.h).
 *
 *   operation              may overlap                                    progress
 *   all                    everything, also on one handle                 as the calls of cf_vfs.h
 *
 * Guarantee: a handle names the same file until it is put, whatever happens to the file's names.  (tests/vfs/handle.c)
 *
 * Lifetime: a handle holds references; cf_handle_put drops them, and must be called before cf_vfs_free.
 *
 * Five lines:
 *   cf_handle_root(fs, &root);
 *   error = cf_handle_lookup(task, &root, "a", &file);
 *   fd = cf_handle_open(task, &file, O_RDONLY);
 *   cf_handle_put(&file);
 *   cf_handle_put(&root);
 *
 * Source: NFS file handles and Linux's open_by_handle_at(2); here a handle is not valid beyond the process.
 */
#ifndef COREFOLD_CF_HANDLE_H
#define COREFOLD_CF_HANDLE_H

#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

CF_EXTERN_BEGIN

struct cf_handle {
	struct cf_inode *inode;   /* referenced */
	struct cf_dentry *dentry; /* referenced: of a directory; else null */
};

void cf_handle_root(struct cf_vfs *vfs, struct cf_handle *root);
/* One name, without following a link; permission to search the directory is checked. 0 or -errno. */
int cf_handle_lookup(struct cf_task *task, const struct cf_handle *directory, const char *name, struct cf_handle *found);
void cf_handle_put(struct cf_handle *handle);
void cf_handle_stat(const struct cf_handle *handle, struct cf_stat *stat);
int64_t cf_handle_readlink(struct cf_task *task, const struct cf_handle *handle, char *to, size_t size);
/* A descriptor, with the checks of cf_vfs_openat; of flags that make files none is allowed. */
int cf_handle_open(struct cf_task *task, const struct cf_handle *handle, int flags);
/*
 * A descriptor that permits no reading or writing, and is opened without permission: for calls on names below a directory,
 * and to change attributes. Those calls check their own permissions. -EMFILE, -ENOMEM.
 */
int cf_handle_place(struct cf_task *task, const struct cf_handle *handle);
/* The file of a descriptor. 0 or -EBADF. */
int cf_handle_of(struct cf_task *task, int fd, struct cf_handle *handle);
/* As linkat, from the file itself: -ENOENT if its last name is gone. */
int cf_handle_link(struct cf_task *task, const struct cf_handle *handle, int dir, const char *name);

CF_EXTERN_END

#endif
