// SPDX-License-Identifier: MIT OR Apache-2.0
// The backend in memory: names. Their locks are held, or before the scaled form their directories' sems: shared for lookup,
// exclusively for the others. What fails has changed nothing.
#include "vfs.h"

int cf_memory_charged_inode(struct cf_inode *from, uint32_t mode, const char *text, const struct cf_cred *cred,
			    struct cf_inode **made);
void cf_memory_set_size(struct cf_inode *inode, uint64_t size);

static int lookup(struct cf_inode *dir, const struct cf_name *name, struct cf_inode **inode)
{
	*inode = cf_memory_find(cf_memory_dir_of(dir), name);
	if (*inode)
		cf_inode_get(*inode);
	return 0;
}

// A charged entry for the name, not yet in the directory.
static int new_entry(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode, struct cf_memory_entry **entry)
{
	int error = cf_vfs_take(vfs_of(dir), cf_charge_name(name->length), 0);
	if (error)
		return error;
	*entry = cf_memory_entry_new(vfs_of(dir), name, inode);
	if (!*entry) {
		cf_vfs_give(vfs_of(dir), cf_charge_name(name->length), 0);
		return -ENOMEM;
	}
	return 0;
}

static int make(struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const char *text, const struct cf_cred *cred,
		struct cf_inode **inode)
{
	struct cf_memory_entry *entry;
	int error = cf_memory_charged_inode(dir, mode, text, cred, inode);
	if (error)
		return error;
	error = new_entry(dir, name, *inode, &entry);
	if (error) {
		CF_INODE_STORE(*inode, nlink, 0);
		cf_inode_put(*inode); // nobody could open it
		*inode = NULL;
		return error;
	}
	cf_inode_get(*inode); // the entry's
	cf_memory_add(cf_memory_dir_of(dir), entry);
	cf_memory_changed(dir, name, 1);
	if (S_ISDIR(mode))
		cf_inode_add_links(dir, 1, false);
	return 0;
}

static int create(struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
		  struct cf_inode **inode)
{
	return make(dir, name, mode, NULL, cred, inode);
}

static int make_symlink(struct cf_inode *dir, const struct cf_name *name, const char *text, const struct cf_cred *cred,
			struct cf_inode **inode)
{
	return make(dir, name, S_IFLNK | 0777, text, cred, inode);
}

static int make_link(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	struct cf_memory_entry *entry;
	int error = new_entry(dir, name, inode, &entry);
	if (error)
		return error;
	cf_inode_part_changes(inode);
	if (!cf_inode_add_links(inode, 1, false)) {
		cf_memory_entry_free(vfs_of(dir), entry);
		cf_vfs_give(vfs_of(dir), cf_charge_name(name->length), 0);
		return -ENOENT;
	}
	cf_inode_get(inode);
	cf_memory_add(cf_memory_dir_of(dir), entry);
	cf_memory_changed(dir, name, 1);
	return 0;
}

// The name has gone: the inode loses a link, a directory both.
static void lose(struct cf_inode *dir, struct cf_inode *inode)
{
	if (S_ISDIR(CF_INODE_LOAD(inode, mode))) {
		cf_inode_add_links(inode, -(int)CF_INODE_LOAD(inode, nlink), false);
		cf_inode_add_links(dir, -1, false);
	} else {
		cf_inode_add_links(inode, -1, false);
		if (!CF_INODE_LOAD(inode, nlink))
			cf_inode_gather(inode);
	}
	cf_inode_put(inode);
}

static int remove_name(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	struct cf_memory_entry *entry = cf_memory_remove(cf_memory_dir_of(dir), name);
	if (!entry)
		return -ENOENT;
	cf_memory_entry_free(vfs_of(dir), entry);
	cf_vfs_give(vfs_of(dir), cf_charge_name(name->length), 0);
	cf_memory_changed(dir, name, -1);
	lose(dir, inode);
	return 0;
}

// Below one whose name is locked.
static void close_directory(struct cf_inode *dir)
{
	if (!CF_VFS_RCU_WALK)
		cf_vfs_sem_write(&dir->sem);
	cf_memory_lock_all(cf_memory_dir_of(dir));
}

static void open_directory(struct cf_inode *dir)
{
	cf_memory_unlock_all(cf_memory_dir_of(dir));
	if (!CF_VFS_RCU_WALK)
		cf_vfs_sem_write_done(&dir->sem);
}

static int remove_directory(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	int error;
	close_directory(inode); // nobody makes a name in it now, and later it has no link
	error = cf_memory_first(cf_memory_dir_of(inode), 0) ? -ENOTEMPTY : remove_name(dir, name, inode);
	open_directory(inode);
	return error;
}

static int rename_over(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
		       const struct cf_name *new_name, struct cf_inode *target)
{
	bool directory = S_ISDIR(CF_INODE_LOAD(target, mode));
	if (directory) {
		close_directory(target);
		if (cf_memory_first(cf_memory_dir_of(target), 0)) {
			open_directory(target);
			return -ENOTEMPTY;
		}
	}
	cf_memory_replace(cf_memory_dir_of(to), new_name, inode);
	cf_memory_entry_free(vfs_of(from), cf_memory_remove(cf_memory_dir_of(from), old_name));
	cf_vfs_give(vfs_of(from), cf_charge_name(old_name->length), 0);
	cf_memory_changed(from, old_name, -1);
	cf_memory_changed(to, new_name, 0);
	lose(to, target); // the caller has a reference, too
	if (directory)
		open_directory(target);
	return 0;
}

static int rename_to(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
		     const struct cf_name *new_name)
{
	struct cf_memory_entry *entry = cf_memory_entry_new(vfs_of(from), new_name, inode);
	int64_t more = cf_charge_name(new_name->length) - cf_charge_name(old_name->length);
	int error = !entry ? -ENOMEM : more > 0 ? cf_vfs_take(vfs_of(from), more, 0) : 0;
	if (error) {
		cf_memory_entry_free(vfs_of(from), entry);
		return error;
	}
	if (more < 0)
		cf_vfs_give(vfs_of(from), -more, 0);
	cf_memory_entry_free(vfs_of(from), cf_memory_remove(cf_memory_dir_of(from), old_name));
	cf_memory_add(cf_memory_dir_of(to), entry);
	cf_memory_changed(from, old_name, -1);
	cf_memory_changed(to, new_name, 1);
	return 0;
}

static int rename_names(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
			const struct cf_name *new_name, struct cf_inode *target, unsigned flags)
{
	int error = target ? rename_over(from, old_name, inode, to, new_name, target) :
			     rename_to(from, old_name, inode, to, new_name);
	(void)flags;
	if (error)
		return error;
	cf_inode_touch_change(inode);
	if (S_ISDIR(CF_INODE_LOAD(inode, mode))) {
		cf_inode_add_links(from, -1, false);
		cf_inode_add_links(to, 1, false);
	}
	return 0;
}

static int set_attributes(struct cf_inode *inode, const struct cf_attr *attr, const struct cf_cred *cred)
{
	(void)cred;
	if (attr->valid & CF_ATTR_SIZE)
		cf_memory_set_size(inode, attr->size);
	if ((attr->valid & CF_ATTR_MTIME) && S_ISDIR(CF_INODE_LOAD(inode, mode)))
		cf_memory_settle(inode, true);
	return 0;
}

const struct cf_inode_ops cf_memory_inode_ops = {
	.lookup = lookup,
	.create = create,
	.mkdir = create,
	.symlink = make_symlink,
	.link = make_link,
	.unlink = remove_name,
	.rmdir = remove_directory,
	.rename = rename_names,
	.setattr = set_attributes,
#if CF_VFS_RCU_WALK
	.name_lock = cf_memory_name_lock,
	.tally = cf_memory_tally,
#endif
};
