// SPDX-License-Identifier: MIT OR Apache-2.0
// The backend that passes through to a directory. Each inode has a descriptor of O_PATH, which names the file whatever becomes
// of its names, and keeps its number from being used again. Names are looked up one at a time in such a descriptor, and links
// are not followed, so nothing outside of the directory is reached. Nobody else may change the directory meanwhile: the
// caches would not notice.
#include "passthrough.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct cf_inode_ops inode_ops;

static int64_t ns_of(const struct timespec *t)
{
	return cf_ns_of(t->tv_sec, t->tv_nsec);
}

// The locks of all attributes are held, or nobody else has the inode yet.
static void store__(struct cf_inode *inode, const struct stat *s)
{
	cf_inode_attr_write_begin(&inode->names_seq);
	cf_inode_attr_write_begin(&inode->used_seq);
	cf_inode_attr_write_begin(&inode->size_seq);
	CF_INODE_STORE(inode, mode, s->st_mode);
	CF_INODE_STORE(inode, nlink, (uint32_t)s->st_nlink);
	CF_INODE_STORE(inode, uid, s->st_uid);
	CF_INODE_STORE(inode, gid, s->st_gid);
	CF_INODE_STORE(inode, size, (uint64_t)s->st_size);
	CF_INODE_STORE(inode, blocks, (uint64_t)s->st_blocks);
	CF_INODE_STORE(inode, atime, ns_of(&s->st_atim));
	CF_INODE_STORE(inode, mtime, ns_of(&s->st_mtim));
	CF_INODE_STORE(inode, wtime, ns_of(&s->st_ctim));
	CF_INODE_STORE(inode, ctime, ns_of(&s->st_ctim));
	cf_inode_attr_write_end(&inode->size_seq);
	cf_inode_attr_write_end(&inode->used_seq);
	cf_inode_attr_write_end(&inode->names_seq);
}

// The attributes are asked for under the locks, so that of two who do so the later answer is stored last.
void cf_passthrough_refresh(struct cf_inode *inode)
{
	struct cf_lock_node names, node;
	struct stat s;
	cf_inode_names_lock(inode, &names);
	if (CF_VFS_RCU_WALK)
		cf_inode_lock(inode, &node);
	if (fstat(fd_of(inode), &s) == 0) {
		CF_TEST_POINT("passthrough: attributes");
		store__(inode, &s);
	}
	if (CF_VFS_RCU_WALK)
		cf_inode_unlock(inode, &node);
	cf_inode_names_unlock(inode, &names);
}

static void fill(struct cf_inode *inode, struct cf_super *super, int fd, const struct stat *s)
{
	inode->super = super;
	inode->private_data = (void *)(intptr_t)(fd + 1);
	inode->device = s->st_dev;
	inode->ops = &inode_ops;
	inode->file_ops = cf_passthrough_file_ops(s->st_mode);
	store__(inode, s);
}

// The inode of a descriptor, which it takes over. -EOVERFLOW: its number is that of another device's file here.
static int inode_of(struct cf_super *super, int fd, struct cf_inode **inode)
{
	struct stat s;
	bool made;
	if (fstat(fd, &s)) {
		close(fd);
		return -EIO;
	}
	// Numbers of other devices, that are mounted below, in a range of their own.
	*inode = cf_inode_get_or_new(&super->icache, s.st_ino ^ (uint64_t)s.st_dev << 44, &made);
	if (made) {
		fill(*inode, super, fd, &s);
		cf_inode_done(*inode);
		return 0;
	}
	close(fd);
	if (!*inode)
		return -ENOMEM;
	if ((*inode)->device == s.st_dev)
		return 0;
	cf_inode_put(*inode);
	*inode = NULL;
	return -EOVERFLOW;
}

// --- Names. cf_name has no NUL behind it.

struct text {
	char bytes[CF_NAME_MAX + 1];
};

static const char *text_of(const struct cf_name *name, struct text *text)
{
	memcpy(text->bytes, name->bytes, name->length);
	text->bytes[name->length] = '\0';
	return text->bytes;
}

static int find(struct cf_inode *dir, const struct cf_name *name, struct cf_inode **inode)
{
	struct text t;
	int fd = openat(fd_of(dir), text_of(name, &t), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	*inode = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno == EMFILE ? -ENFILE : -errno;
	return inode_of(dir->super, fd, inode);
}

// What was just made gets its owner and mode; then it is found like any other.
static int own(struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
	       struct cf_inode **inode)
{
	struct text t;
	char path[FD_PATH];
	bool inherits = CF_INODE_LOAD(dir, mode) & S_ISGID;
	int error = find(dir, name, inode);
	if (error || !*inode)
		return error ? error : -EIO;
	if (geteuid() == 0 && fchownat(fd_of(dir), text_of(name, &t), cred->uid, inherits ? (gid_t)-1 : cred->gid,
				       AT_SYMLINK_NOFOLLOW))
		error = -errno;
	if (!error && !S_ISLNK(mode) &&
	    chmod(path_of(*inode, path), (mode & 07777) | (inherits && S_ISDIR(mode) ? S_ISGID : 0)))
		error = -errno;
	cf_passthrough_refresh(*inode);
	cf_passthrough_refresh(dir);
	if (error) {
		unlinkat(fd_of(dir), text_of(name, &t), S_ISDIR(mode) ? AT_REMOVEDIR : 0);
		cf_inode_put(*inode);
	}
	return error;
}

static int create(struct cf_inode *dir, const struct cf_name *name, uint32_t mode, const struct cf_cred *cred,
		  struct cf_inode **inode)
{
	struct text t;
	text_of(name, &t);
	if ((S_ISDIR(mode) ? mkdirat(fd_of(dir), t.bytes, 0700) : mknodat(fd_of(dir), t.bytes, (mode & S_IFMT) | 0600, 0)))
		return -errno;
	return own(dir, name, mode, cred, inode);
}

static int make_symlink(struct cf_inode *dir, const struct cf_name *name, const char *target, const struct cf_cred *cred,
			struct cf_inode **inode)
{
	struct text t;
	if (symlinkat(target, fd_of(dir), text_of(name, &t)))
		return -errno;
	return own(dir, name, S_IFLNK | 0777, cred, inode);
}

static int make_link(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	struct text t;
	char path[FD_PATH];
	int error = answer(linkat(AT_FDCWD, path_of(inode, path), fd_of(dir), text_of(name, &t), AT_SYMLINK_FOLLOW));
	cf_passthrough_refresh(inode);
	cf_passthrough_refresh(dir);
	return error;
}

static int take_away(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode, int flags)
{
	struct text t;
	int error = answer(unlinkat(fd_of(dir), text_of(name, &t), flags));
	cf_passthrough_refresh(inode);
	cf_passthrough_refresh(dir);
	return error;
}

static int remove_name(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	return take_away(dir, name, inode, 0);
}

static int remove_directory(struct cf_inode *dir, const struct cf_name *name, struct cf_inode *inode)
{
	int error;
	cf_vfs_sem_write(&inode->sem); // nobody makes a name in it now
	error = take_away(dir, name, inode, AT_REMOVEDIR);
	if (!error)
		CF_INODE_STORE(inode, nlink, 0); // some file systems leave one link
	cf_vfs_sem_write_done(&inode->sem);
	return error;
}

static int rename_names(struct cf_inode *from, const struct cf_name *old_name, struct cf_inode *inode, struct cf_inode *to,
			const struct cf_name *new_name, struct cf_inode *target, unsigned flags)
{
	struct text a, b;
	bool directory = target && S_ISDIR(CF_INODE_LOAD(target, mode));
	int error;
	if (directory)
		cf_vfs_sem_write(&target->sem);
	error = answer(syscall(SYS_renameat2, fd_of(from), text_of(old_name, &a), fd_of(to), text_of(new_name, &b), flags));
	cf_passthrough_refresh(inode);
	cf_passthrough_refresh(from);
	cf_passthrough_refresh(to);
	if (target)
		cf_passthrough_refresh(target);
	if (directory) {
		if (!error)
			CF_INODE_STORE(target, nlink, 0);
		cf_vfs_sem_write_done(&target->sem);
	}
	return error;
}

static int read_text(struct cf_inode *inode, char *to, size_t size)
{
	ssize_t length = readlinkat(fd_of(inode), "", to, size - 1);
	if (length < 0)
		return -errno;
	to[length] = '\0';
	return (int)length;
}

static struct timespec time_of(int64_t ns)
{
	const struct cf_time t = cf_time_of(ns);
	return (struct timespec){ t.sec, t.nsec };
}

static int set_times(struct cf_inode *inode, const struct cf_attr *attr)
{
	struct timespec t[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };
	char path[FD_PATH];
	if (attr->valid & CF_ATTR_ATIME)
		t[0] = time_of(attr->atime);
	if (attr->valid & CF_ATTR_MTIME)
		t[1] = time_of(attr->mtime);
	return answer(utimensat(AT_FDCWD, path_of(inode, path), t, 0));
}

static int set_attributes(struct cf_inode *inode, const struct cf_attr *attr, const struct cf_cred *cred)
{
	char path[FD_PATH];
	int error = 0;
	(void)cred;
	path_of(inode, path);
	if (attr->valid & CF_ATTR_SIZE)
		error = answer(truncate(path, (off_t)attr->size));
	if (!error && (attr->valid & (CF_ATTR_UID | CF_ATTR_GID)))
		error = answer(fchownat(fd_of(inode), "", attr->valid & CF_ATTR_UID ? attr->uid : (uid_t)-1,
					attr->valid & CF_ATTR_GID ? attr->gid : (gid_t)-1, AT_EMPTY_PATH));
	if (!error && (attr->valid & CF_ATTR_MODE) && !S_ISLNK(CF_INODE_LOAD(inode, mode)))
		error = answer(chmod(path, attr->mode & 07777));
	if (!error && (attr->valid & (CF_ATTR_ATIME | CF_ATTR_MTIME)))
		error = set_times(inode, attr);
	cf_passthrough_refresh(inode);
	return error;
}

static const struct cf_inode_ops inode_ops = {
	.lookup = find,
	.create = create,
	.mkdir = create,
	.symlink = make_symlink,
	.link = make_link,
	.unlink = remove_name,
	.rmdir = remove_directory,
	.rename = rename_names,
	.readlink = read_text,
	.setattr = set_attributes,
};

// --- The whole.

static void evict(struct cf_inode *inode)
{
	if (inode->private_data)
		close(fd_of(inode));
}

// A cached inode is a descriptor: at most half of those that the process may have are for caching.
static void bound_cache(struct cf_vfs *vfs)
{
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur / 2 < (rlim_t)vfs->most_dentries)
		vfs->most_dentries = (int64_t)files.rlim_cur / 2;
}

static int mount_directory(struct cf_vfs *vfs, void *path, struct cf_inode **root)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bound_cache(vfs);
	return fd < 0 ? -errno : inode_of(&vfs->super, fd, root);
}

static int statvfs_directory(struct cf_vfs *vfs, struct cf_statvfs *to)
{
	struct statvfs s;
	if (fstatvfs(fd_of(vfs->root), &s))
		return -errno;
	*to = (struct cf_statvfs){ .bsize = s.f_frsize, .blocks = (int64_t)s.f_blocks, .bfree = (int64_t)s.f_bfree,
				   .bavail = (int64_t)s.f_bavail, .files = (int64_t)s.f_files, .ffree = (int64_t)s.f_ffree,
				   .namemax = s.f_namemax };
	return 0;
}

static const struct cf_icache_ops icache_ops = { .evict = evict };
const struct cf_backend cf_backend_directory = { .icache_ops = &icache_ops, .mount = mount_directory,
						 .statvfs = statvfs_directory };
