// SPDX-License-Identifier: MIT OR Apache-2.0
// The backend in memory: inodes and contents. An entry of a directory holds a reference on its inode, so the caches drop
// none that has a name.
#include "vfs.h"

struct memory_inode {
	struct cf_inode inode;
	union {
		struct cf_mapping mapping; // regular files
		struct cf_memory_dir dir;
	} u;
};

static struct memory_inode *memory_of(const struct cf_inode *inode)
{
	return (struct memory_inode *)(uintptr_t)inode;
}

static int64_t charge_of(uint32_t mode, size_t target)
{
	return CF_CHARGE_INODE + (S_ISDIR(mode) ? CF_CHARGE_DIRECTORY : 0) + (S_ISLNK(mode) ? cf_charge_name(target) : 0);
}

static void evict(struct cf_inode *inode)
{
	if (!inode->mode) // never filled
		return;
	if (S_ISREG(inode->mode))
		cf_mapping_destroy(&memory_of(inode)->u.mapping);
	if (S_ISDIR(inode->mode))
		cf_memory_dir_destroy(&memory_of(inode)->u.dir);
	if (S_ISFIFO(inode->mode))
		cf_stream_free(vfs_of(inode), inode->private_data);
	if (S_ISSOCK(inode->mode))
		cf_socket_evict(inode);
	if (!(inode->flags & CF_INODE_UNNAMED))
		cf_vfs_give(vfs_of(inode), charge_of(inode->mode, inode->size), 1);
}

static const struct cf_icache_ops icache_ops = {
	.size = sizeof(struct memory_inode),
	.type = "memory_inode",
	.evict = evict,
};

struct cf_memory_dir *cf_memory_dir_of(struct cf_inode *inode)
{
	return &memory_of(inode)->u.dir;
}

static const struct cf_file_ops *file_ops_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return &cf_memory_file_ops;
	case S_IFDIR: return &cf_memory_directory_ops;
	case S_IFIFO: return &cf_fifo_ops;
	default: return NULL;
	}
}

// An inode with one link (a directory: two), which costs nothing yet. Null: no memory.
struct cf_inode *cf_memory_inode(struct cf_vfs *vfs, uint32_t mode, const struct cf_cred *cred)
{
	struct cf_inode *inode = cf_inode_new(&vfs->super.icache);
	if (inode && S_ISDIR(mode) && !cf_memory_dir_init(&memory_of(inode)->u.dir)) {
		inode->nlink = 0;
		cf_inode_put(inode); // never filled
		inode = NULL;
	}
	if (!inode)
		return NULL;
	inode->super = &vfs->super;
	inode->mode = mode;
	inode->nlink = S_ISDIR(mode) ? 2 : 1;
	inode->uid = cred->uid;
	inode->gid = cred->gid;
	inode->atime = inode->mtime = inode->wtime = inode->ctime = cf_vfs_now(vfs);
	inode->unread = 1;
	inode->ops = &cf_memory_inode_ops;
	inode->file_ops = file_ops_of(mode);
	inode->flags = CF_INODE_UNNAMED;
	if (S_ISREG(mode))
		cf_mapping_init(&memory_of(inode)->u.mapping, inode, &vfs->space);
	return inode;
}

// The same, charged. `from`: the directory that it comes into.
int cf_memory_charged_inode(struct cf_inode *from, uint32_t mode, const char *text, const struct cf_cred *cred,
			    struct cf_inode **made)
{
	struct cf_vfs *vfs = vfs_of(from);
	size_t length = text ? strlen(text) : 0;
	char *copy = text ? strdup(text) : NULL;
	int error = text && !copy ? -ENOMEM : cf_vfs_take(vfs, charge_of(mode, length), 1);
	if (!error && !(*made = cf_memory_inode(vfs, mode, cred))) {
		cf_vfs_give(vfs, charge_of(mode, length), 1);
		error = -ENOMEM;
	}
	if (error) {
		free(copy);
		return error;
	}
	(*made)->flags = 0;
	(*made)->counted = CF_VFS_RCU_WALK && S_ISREG(mode);
	(*made)->size = length;
	(*made)->link = copy;
	if (CF_INODE_LOAD(from, mode) & S_ISGID) {
		(*made)->gid = CF_INODE_LOAD(from, gid);
		if (S_ISDIR(mode))
			(*made)->mode |= S_ISGID;
	}
	return 0;
}

static int64_t file_read(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	return cf_mapping_read(&memory_of(file->inode)->u.mapping, to, size, offset);
}

static int64_t file_write(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append)
{
	struct cf_mapping *mapping = &memory_of(file->inode)->u.mapping;
	return append ? cf_mapping_append(mapping, from, size, offset) : cf_mapping_write(mapping, from, size, *offset);
}

static int64_t file_seek(struct cf_file *file, int64_t offset, bool hole)
{
	struct cf_mapping *mapping = &memory_of(file->inode)->u.mapping;
	int64_t size = (int64_t)CF_INODE_LOAD(file->inode, size), index, at;
	if (offset < 0 || offset >= size)
		return -ENXIO;
	index = cf_mapping_next(mapping, offset / CF_PAGE, hole);
	if (index < 0 || index > size / CF_PAGE)
		return hole ? size : -ENXIO;
	at = index * CF_PAGE;
	if (at >= size)
		return hole ? size : -ENXIO;
	return at > offset ? at : offset;
}

const struct cf_file_ops cf_memory_file_ops = { .read = file_read, .write = file_write, .seek = file_seek };

static int directory_read(struct cf_file *file, int64_t position, struct cf_dirent *entries, int most)
{
	const struct cf_memory_dir *dir = cf_memory_dir_of(file->inode);
	int count = 0;
	cf_memory_lock_all(dir); // all at one moment
	while (count < most) {
		struct cf_memory_entry *entry = cf_memory_first(dir, position);
		if (!entry)
			break;
		position = cf_memory_entry_copy(entry, &entries[count++]) + 1;
	}
	cf_memory_unlock_all(dir);
	cf_memory_settle(file->inode, false); // whose times are asked for next
	return count;
}

const struct cf_file_ops cf_memory_directory_ops = { .readdir = directory_read };

void cf_memory_set_size(struct cf_inode *inode, uint64_t size)
{
	cf_mapping_truncate(&memory_of(inode)->u.mapping, (int64_t)size);
}

static int mount_memory(struct cf_vfs *vfs, void *argument, struct cf_inode **root)
{
	struct cf_cred cred = { .uid = vfs->options.uid, .gid = vfs->options.gid };
	int error = cf_vfs_take(vfs, charge_of(S_IFDIR, 0), 1);
	(void)argument;
	if (error)
		return error;
	*root = cf_memory_inode(vfs, S_IFDIR | vfs->options.mode, &cred);
	if (!*root) {
		cf_vfs_give(vfs, charge_of(S_IFDIR, 0), 1);
		return -ENOMEM;
	}
	(*root)->flags = 0;
	return 0;
}

// The directory above while its contents are taken out: a stack without memory of its own.
static void take_apart(struct cf_inode *at)
{
	struct cf_inode *above;
	while (at) {
		struct cf_memory_entry *entry = cf_memory_first(cf_memory_dir_of(at), 0);
		struct cf_inode *inode = entry ? cf_memory_entry_inode(entry) : NULL;
		if (!entry) {
			above = at->private_data;
			at->private_data = NULL;
			at = above;
		} else if (S_ISDIR(inode->mode) && cf_memory_first(cf_memory_dir_of(inode), 0)) {
			inode->private_data = at;
			at = inode;
		} else {
			struct cf_dirent d;
			cf_memory_entry_copy(entry, &d);
			struct cf_name name = cf_name_of(d.name, d.length);
			cf_memory_entry_free(vfs_of(at), cf_memory_remove(cf_memory_dir_of(at), &name));
			CF_INODE_STORE(inode, nlink, S_ISDIR(inode->mode) ? 0 : inode->nlink - 1);
			if (!inode->nlink)
				cf_inode_gather(inode);
			cf_inode_put(inode);
		}
	}
}

static void unmount_memory(struct cf_vfs *vfs, struct cf_inode *root)
{
	(void)vfs;
	take_apart(root);
	CF_INODE_STORE(root, nlink, 0);
}

const struct cf_backend cf_backend_memory = { .icache_ops = &icache_ops, .mount = mount_memory, .unmount = unmount_memory };
