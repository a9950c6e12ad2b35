// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls that make and remove names. The order of the checks is Linux's.
#include "place.h"

// Where a new name goes.
static int begin_new(struct cf_task *task, int fd, const char *path, bool directory, struct cf_place *place)
{
	enum cf_walk_last type;
	int error = cf_place_begin(task, fd, path, place, &type);
	if (error || type != CF_LAST_NORMAL)
		return error ? error : -EEXIST;
	error = cf_dentry_inode(place->child) ? -EEXIST : place->trailing && !directory ? -ENOENT :
							  cf_vfs_may_create(task, place->parent, place->dir);
	if (error)
		cf_place_end(place);
	return error;
}

static int make_in(struct cf_task *task, struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const char *target,
		   struct cf_inode **inode)
{
	if (target)
		return dir->ops->symlink(dir, name, target, &task->cred, inode);
	mode = cf_vfs_new_mode(task, dir, mode);
	return S_ISDIR(mode) ? dir->ops->mkdir(dir, name, mode, &task->cred, inode) :
			       dir->ops->create(dir, name, mode, &task->cred, inode);
}

static int make(struct cf_task *task, int fd, const char *path, uint32_t mode, const char *target)
{
	struct cf_place place;
	struct cf_inode *inode;
	int error = cf_vfs_known_present(task, fd, path);
	error = error ? error : begin_new(task, fd, path, S_ISDIR(mode), &place);
	if (error)
		return error;
	error = make_in(task, place.dir, &place.name, mode, target, &inode);
	if (!error)
		cf_dentry_instantiate(place.child, inode);
	cf_place_end(&place);
	cf_vfs_relax(task->vfs);
	return error;
}

int cf_vfs_mkdirat(struct cf_task *task, int dir, const char *path, uint32_t mode)
{
	return make(task, dir, path, S_IFDIR | (mode & 01777), NULL);
}

int cf_vfs_mknodat(struct cf_task *task, int dir, const char *path, uint32_t mode)
{
	mode &= S_IFMT | 07777;
	if (!(mode & S_IFMT))
		mode |= S_IFREG;
	if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode))
		return -EPERM;
	return make(task, dir, path, mode, NULL);
}

int cf_vfs_symlinkat(struct cf_task *task, const char *target, int dir, const char *path)
{
	if (!*target)
		return -ENOENT;
	if (strnlen(target, CF_PATH_MAX) == CF_PATH_MAX)
		return -ENAMETOOLONG;
	return make(task, dir, path, S_IFLNK | 0777, target);
}

int cf_inode_link(struct cf_task *task, struct cf_inode *inode, int to_dir, const char *to)
{
	struct cf_place place;
	int error = cf_vfs_known_present(task, to_dir, to);
	error = error ? error : begin_new(task, to_dir, to, false, &place);
	if (error)
		return error;
	error = !inode ? -ENOENT : S_ISDIR(CF_INODE_LOAD(inode, mode)) ? -EPERM : place.dir->ops->link(place.dir, &place.name, inode);
	if (!error) {
		cf_inode_get(inode);
		cf_dentry_instantiate(place.child, inode);
	}
	cf_place_end(&place);
	return error;
}

// It is known that the file is there, and that the new name is taken.
static bool both_present(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to)
{
	struct cf_vfs_peek source, target;
	bool present;
	cf_rcu_read_lock();
	present = cf_vfs_peek(task, from_dir, from, &source) == CF_KNOWN_PRESENT && !source.trailing &&
		  cf_vfs_peek(task, to_dir, to, &target) == CF_KNOWN_PRESENT &&
		  !cf_dentry_seq_changed(source.dentry, source.seq);
	cf_rcu_read_unlock();
	return present;
}

int cf_vfs_linkat(struct cf_task *task, int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	struct cf_walk source;
	struct cf_held held;
	int error;
	if (flags & ~AT_SYMLINK_FOLLOW)
		return -EINVAL;
	if (!flags && both_present(task, from_dir, from, to_dir, to))
		return -EEXIST;
	error = cf_vfs_hold(task, from_dir, from, flags ? CF_WALK_FOLLOW : 0, &held);
	if (!error) {
		error = cf_inode_link(task, held.inode, to_dir, to);
		cf_inode_unhold(held.inode, held.hold);
		cf_vfs_relax(task->vfs);
		return error;
	}
	if (error != CF_VFS_NOT_KNOWN)
		return error;
	error = cf_vfs_walk(task, from_dir, from, flags ? CF_WALK_FOLLOW : 0, &source);
	if (error)
		return error;
	error = cf_inode_link(task, cf_dentry_inode(source.dentry), to_dir, to);
	cf_dentry_put(source.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}

static int remove_directory(struct cf_inode *dir, const struct cf_place *place, struct cf_inode *inode)
{
	int error;
	cf_dentry_goes(place->child, true);
	error = dir->ops->rmdir(dir, &place->name, inode);
	CF_TEST_POINT("rmdir: its name is left");
	if (!error) {
		cf_dentry_drop_names(place->child);
		cf_dentry_delete(place->child);
	}
	cf_dentry_goes(place->child, false);
	return error;
}

static int remove_found(struct cf_task *task, const struct cf_place *place, bool directory)
{
	struct cf_inode *dir = place->dir, *inode = cf_dentry_inode(place->child);
	int error;
	if (!inode)
		return -ENOENT;
	if (!directory && place->trailing)
		return S_ISDIR(CF_INODE_LOAD(inode, mode)) ? -EISDIR : -ENOTDIR;
	error = cf_vfs_may_delete(task, dir, inode, directory);
	if (error)
		return error;
	if (directory)
		return remove_directory(dir, place, inode);
	error = dir->ops->unlink(dir, &place->name, inode);
	if (!error)
		cf_dentry_delete(place->child);
	return error;
}

static int last_is_no_name(enum cf_walk_last type, bool directory)
{
	if (!directory)
		return -EISDIR;
	return type == CF_LAST_DOT ? -EINVAL : type == CF_LAST_DOTDOT ? -ENOTEMPTY : -EBUSY;
}

int cf_vfs_unlinkat(struct cf_task *task, int dir, const char *path, int flags)
{
	bool directory = flags & AT_REMOVEDIR;
	struct cf_place place;
	enum cf_walk_last type;
	int error = flags & ~AT_REMOVEDIR ? -EINVAL : cf_vfs_known_absent(task, dir, path);
	error = error ? error : cf_place_begin(task, dir, path, &place, &type);
	if (error || type != CF_LAST_NORMAL)
		return error ? error : last_is_no_name(type, directory);
	error = remove_found(task, &place, directory);
	cf_place_end(&place);
	cf_vfs_relax(task->vfs);
	return error;
}

int64_t cf_inode_readlink(struct cf_inode *inode, char *to, size_t size)
{
	char text[CF_PATH_MAX];
	const char *link = CF_INODE_LOAD(inode, link);
	int64_t result = S_ISLNK(CF_INODE_LOAD(inode, mode)) ? 0 : -EINVAL;
	if (result == 0 && !link && (result = inode->ops->readlink(inode, text, sizeof text)) >= 0)
		link = text;
	if (result >= 0) {
		size_t length = strlen(link);
		result = (int64_t)(length < size ? length : size);
		memcpy(to, link, (size_t)result);
		cf_inode_touch_read(inode);
	}
	return result;
}

int64_t cf_vfs_readlinkat(struct cf_task *task, int dir, const char *path, char *to, size_t size)
{
	struct cf_walk w;
	int64_t result = size ? cf_vfs_walk(task, dir, path, 0, &w) : -EINVAL;
	if (result)
		return result;
	struct cf_inode *inode = cf_dentry_inode(w.dentry);
	result = inode ? cf_inode_readlink(inode, to, size) : -ENOENT;
	cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return result;
}
