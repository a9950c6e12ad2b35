/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * memfs.h: a small backend in memory for the caches' tests, and the calls of a file system over it, as short as they can
 * be. `fs.lookups` counts how often the backend was asked; `fs.slow` makes it sleep when asked.
 */
#ifndef KIT_TESTS_VFS_MEMFS_H
#define KIT_TESTS_VFS_MEMFS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_walk.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
	struct entry *next;
	struct cf_inode *inode;
	uint32_t length;
	char name[CF_NAME_MOST + 1];
};

static struct {
	struct cf_super super;
	struct cf_cred cred;
	long lookups, evicted;
	int slow;
	int64_t charged;
} fs;

static const struct cf_inode_ops memfs_ops;

static struct entry **memfs_entry(struct cf_inode *directory, const struct cf_name *name)
{
	struct entry **at = (struct entry **)&directory->private_data;
	while (*at && ((*at)->length != name->length || memcmp((*at)->name, name->bytes, name->length)))
		at = &(*at)->next;
	return at;
}

static int memfs_lookup(struct cf_inode *directory, const struct cf_name *name, struct cf_inode **inode)
{
	struct entry *entry = *memfs_entry(directory, name);
	__atomic_fetch_add(&fs.lookups, 1, __ATOMIC_RELAXED);
	if (fs.slow)
		usleep((useconds_t)fs.slow);
	*inode = entry ? entry->inode : NULL;
	if (entry)
		cf_inode_get(entry->inode);
	return 0;
}

/* The entry holds a reference on its inode. */
static void memfs_enter(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode)
{
	struct entry *entry = calloc(1, sizeof *entry);
	entry->next = directory->private_data;
	entry->inode = inode;
	entry->length = name->length;
	memcpy(entry->name, name->bytes, name->length);
	cf_inode_get(inode);
	directory->private_data = entry;
}

static struct cf_inode *memfs_inode(uint32_t mode, const struct cf_cred *cred)
{
	struct cf_inode *inode = cf_inode_new(&fs.super.icache);
	if (!inode)
		return NULL;
	inode->mode = mode;
	inode->uid = cred->uid;
	inode->gid = cred->gid;
	inode->ops = &memfs_ops;
	cf_inode_insert(inode);
	return inode;
}

static int memfs_make(struct cf_inode *directory, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
		      struct cf_inode **inode)
{
	*inode = memfs_inode(mode, cred);
	if (!*inode)
		return -ENOMEM;
	memfs_enter(directory, name, *inode);
	return 0;
}

static int memfs_symlink(struct cf_inode *directory, const struct cf_name *name, const char *text,
			 const struct cf_cred *cred, struct cf_inode **inode)
{
	int result = memfs_make(directory, name, S_IFLNK | 0777, cred, inode);
	if (!result)
		cf_rcu_assign((*inode)->link, strdup(text));
	return result;
}

static int memfs_remove(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode)
{
	struct entry **at = memfs_entry(directory, name), *entry = *at;
	*at = entry->next;
	__atomic_fetch_sub(&inode->nlink, 1, __ATOMIC_RELEASE);
	cf_inode_put(inode);
	free(entry);
	return 0;
}

static int memfs_rmdir(struct cf_inode *directory, const struct cf_name *name, struct cf_inode *inode)
{
	int result = 0;
	cf_vfs_sem_write(&inode->sem);
	if (inode->private_data)
		result = -ENOTEMPTY;
	else
		memfs_remove(directory, name, inode);
	cf_vfs_sem_write_done(&inode->sem);
	return result;
}

static int memfs_rename(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
			const struct cf_name *new_name, struct cf_inode *target, unsigned flags)
{
	int result = !target ? 0 : S_ISDIR(target->mode) ? memfs_rmdir(to, new_name, target) : memfs_remove(to, new_name, target);
	(void)flags;
	if (result)
		return result;
	cf_inode_get(inode);
	__atomic_fetch_add(&inode->nlink, 1, __ATOMIC_RELEASE);
	memfs_remove(from, old_name, inode);
	memfs_enter(to, new_name, inode);
	cf_inode_put(inode);
	return 0;
}

static void memfs_evict(struct cf_inode *inode)
{
	for (struct entry *entry = inode->private_data, *next; entry; entry = next) { /* the whole tree, at the end */
		next = entry->next;
		cf_inode_put(entry->inode);
		free(entry);
	}
	__atomic_fetch_add(&fs.evicted, 1, __ATOMIC_RELAXED);
}

static const struct cf_inode_ops memfs_ops = {
	.lookup = memfs_lookup,
	.create = memfs_make,
	.mkdir = memfs_make,
	.symlink = memfs_symlink,
	.unlink = memfs_remove,
	.rmdir = memfs_rmdir,
	.rename = memfs_rename,
};

static const struct cf_icache_ops memfs_icache_ops = { .evict = memfs_evict };

static int memfs_charge(struct cf_super *super, int64_t bytes)
{
	(void)super;
	__atomic_fetch_add(&fs.charged, bytes, __ATOMIC_RELAXED);
	return 0;
}

static const struct cf_super_ops memfs_super_ops = { .charge = memfs_charge };

static inline int fs_begin_with(const struct cf_dentry_ops *dentry_ops)
{
	const struct cf_super_options options = {
		.ops = &memfs_super_ops, .dentry_ops = dentry_ops, .icache_ops = &memfs_icache_ops, .dentry_buckets = 64,
	};
	int result;
	memset(&fs.cred, 0, sizeof fs.cred);
	fs.cred.privileged = 1;
	fs.lookups = fs.evicted = fs.charged = fs.slow = 0;
	result = cf_super_init(&fs.super, &options);
	return result ? result : cf_super_set_root(&fs.super, memfs_inode(S_IFDIR | 0755, &fs.cred));
}

static inline int fs_begin(void)
{
	return fs_begin_with(NULL);
}

/* All names that are left go with their directories. 0, or -EBUSY: a reference is missing. */
static inline int fs_end(void)
{
	struct cf_inode *root = fs.super.root->inode;
	cf_inode_get(root);
	while (cf_dcache_shrink(&fs.super, SIZE_MAX))
		;
	CF_INODE_STORE(root, nlink, 0);
	cf_inode_put(root);
	/* Inodes that entries alone hold are put by the eviction of their directories. */
	return cf_super_destroy(&fs.super);
}

static inline struct cf_walk fs_walk_of(unsigned flags)
{
	return (struct cf_walk){ .root = fs.super.root, .start = fs.super.root, .cred = &fs.cred, .flags = flags };
}

/* The dentry of a path, referenced, or null: the error through *error. */
static inline struct cf_dentry *fs_get(const char *path, unsigned flags, int *error)
{
	struct cf_walk w = fs_walk_of(flags);
	*error = cf_walk(&w, path);
	return *error ? NULL : w.dentry;
}

static inline int fs_exists(const char *path)
{
	int error;
	cf_dentry_put(fs_get(path, 0, &error));
	return error;
}

static inline int fs_copy_number(const struct cf_dentry *dentry, const struct cf_inode *inode, void *number)
{
	(void)dentry;
	*(uint64_t *)number = inode->number;
	return 0;
}

/* The inode's number, or -errno. */
static inline int64_t fs_stat(const char *path, unsigned flags)
{
	struct cf_walk w = fs_walk_of(flags);
	uint64_t number = 0;
	int error = cf_walk_rcu(&w, path, fs_copy_number, &number);
	return error ? error : (int64_t)number;
}

static inline struct cf_name fs_name_of(const struct cf_dentry *d, char *buffer)
{
	size_t length = cf_dentry_name(d, buffer);
	return cf_name_of(buffer, length);
}

/* Makes what `mode` says (a link with this text), at a negative dentry. */
static inline int fs_make__(struct cf_dentry *d, uint32_t mode, const char *text)
{
	char buffer[CF_NAME_MOST + 1];
	struct cf_inode *directory = d->parent->inode, *inode;
	struct cf_name name = fs_name_of(d, buffer);
	int result;
	if (!CF_INODE_LOAD(directory, nlink))
		return -ENOENT;
	if (text)
		result = directory->ops->symlink(directory, &name, text, &fs.cred, &inode);
	else
		result = directory->ops->create(directory, &name, mode, &fs.cred, &inode);
	if (!result)
		cf_dentry_instantiate(d, inode);
	return result;
}

static inline int fs_make(const char *path, uint32_t mode, const char *text)
{
	struct cf_walk w = fs_walk_of(CF_WALK_PARENT);
	struct cf_dentry *d;
	int result = cf_walk(&w, path);
	if (result)
		return result;
	cf_vfs_sem_write(&w.dentry->inode->sem);
	result = w.last_type == CF_LAST_NORMAL ? cf_dentry_find(w.dentry, &w.last, true, &d) : -EEXIST;
	if (!result) {
		result = d->inode ? -EEXIST : fs_make__(d, mode, text);
		cf_dentry_put(d);
	}
	cf_vfs_sem_write_done(&w.dentry->inode->sem);
	cf_dentry_put(w.dentry);
	return result;
}

static inline int fs_create(const char *path)
{
	return fs_make(path, S_IFREG | 0644, NULL);
}

static inline int fs_mkdir(const char *path)
{
	return fs_make(path, S_IFDIR | 0755, NULL);
}

static inline int fs_symlink(const char *text, const char *path)
{
	return fs_make(path, S_IFLNK | 0777, text);
}

static inline int fs_remove(const char *path, bool directory)
{
	struct cf_walk w = fs_walk_of(CF_WALK_PARENT);
	struct cf_dentry *d;
	int result = cf_walk(&w, path);
	if (result)
		return result;
	cf_vfs_sem_write(&w.dentry->inode->sem);
	result = w.last_type == CF_LAST_NORMAL ? cf_dentry_find(w.dentry, &w.last, true, &d) : -EINVAL;
	if (!result) {
		struct cf_inode *inode = d->inode;
		if (!inode)
			result = -ENOENT;
		else if (S_ISDIR(inode->mode) != directory)
			result = directory ? -ENOTDIR : -EISDIR;
		else if (directory)
			result = inode->ops->rmdir(w.dentry->inode, &w.last, inode);
		else
			result = inode->ops->unlink(w.dentry->inode, &w.last, inode);
		if (!result)
			cf_dentry_delete(d);
		cf_dentry_put(d);
	}
	cf_vfs_sem_write_done(&w.dentry->inode->sem);
	cf_dentry_put(w.dentry);
	cf_rcu_relax();
	return result;
}

static inline int fs_unlink(const char *path)
{
	return fs_remove(path, false);
}

static inline int fs_rmdir(const char *path)
{
	return fs_remove(path, true);
}

static inline int fs_rename__(struct cf_walk *from, struct cf_walk *to, struct cf_dentry *source, struct cf_dentry *target,
		       struct cf_dentry *trap)
{
	int result;
	if (!source->inode)
		return -ENOENT;
	if (source == trap)
		return -EINVAL;
	if (target == trap && trap)
		return -ENOTEMPTY;
	if (source->inode == target->inode)
		return 0;
	if (target->inode && S_ISDIR(target->inode->mode) != S_ISDIR(source->inode->mode))
		return S_ISDIR(target->inode->mode) ? -EISDIR : -ENOTDIR;
	if (!CF_INODE_LOAD(to->dentry->inode, nlink))
		return -ENOENT;
	result = source->inode->ops->rename(from->dentry->inode, &from->last, source->inode, to->dentry->inode, &to->last,
					    target->inode, 0);
	return result ? result : cf_dentry_move(source, target, false);
}

static inline int fs_rename_at(struct cf_walk *from, struct cf_walk *to)
{
	struct cf_dentry *source = NULL, *target = NULL, *trap;
	bool directory;
	int result = cf_dentry_find(from->dentry, &from->last, false, &source);
	if (result)
		return result;
	directory = (cf_dentry_flags(source) & CF_DENTRY_DIRECTORY) || from->dentry == to->dentry;
	cf_dentry_put(source);
	trap = cf_rename_lock(from->dentry, to->dentry, directory);
	source = NULL;
	result = cf_dentry_find(from->dentry, &from->last, true, &source);
	result = result ? result : cf_dentry_find(to->dentry, &to->last, true, &target);
	if (!result && !directory && (cf_dentry_flags(source) & CF_DENTRY_DIRECTORY))
		result = -EAGAIN; /* it has become a directory */
	result = result ? result : fs_rename__(from, to, source, target, trap);
	cf_rename_unlock(from->dentry, to->dentry, directory);
	cf_dentry_put(source);
	cf_dentry_put(target);
	return result;
}

static inline int fs_rename(const char *old_path, const char *new_path)
{
	struct cf_walk from = fs_walk_of(CF_WALK_PARENT), to = from;
	int result = cf_walk(&from, old_path);
	if (result)
		return result;
	result = cf_walk(&to, new_path);
	if (!result) {
		do
			result = fs_rename_at(&from, &to);
		while (result == -EAGAIN);
		cf_dentry_put(to.dentry);
	}
	cf_dentry_put(from.dentry);
	cf_rcu_relax();
	return result;
}

#endif
