// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading and writing through descriptors. What cannot block runs in a read section, without a reference on the file.
#include "vfs.h"

#include <unistd.h>

enum direction { READS, WRITES, NEITHER };

static bool allows(const struct cf_file *file, enum direction direction)
{
	return direction == READS ? file->reads : direction == WRITES ? file->writes : true;
}

static bool waits(const struct cf_file *file)
{
	return file->ops && file->ops->waits;
}

// The file of a call: in a read section, or referenced where the backend may block. Null: there is none that may be used so, and no
// section.
static struct cf_file *begin(struct cf_task *task, int fd, enum direction direction)
{
	struct cf_file *file;
	cf_rcu_read_lock();
	do {
		file = cf_task_file(task, fd);
		if (file && !allows(file, direction))
			file = NULL;
		if (file && !waits(file))
			return file;
	} while (file && !cf_file_grab(file));
	cf_rcu_read_unlock();
	return file;
}

static void end(struct cf_file *file)
{
	if (waits(file))
		cf_file_put(file);
	else
		cf_rcu_read_unlock();
}

// Relaxed: the number alone. It changes under the file's lock, and is looked at without.
static int64_t position_of(const struct cf_file *file)
{
	return __atomic_load_n(&file->position, __ATOMIC_RELAXED);
}

static void set_position(struct cf_file *file, int64_t position)
{
	__atomic_store_n(&file->position, position, __ATOMIC_RELAXED);
}

static bool is_directory(const struct cf_file *file)
{
	return S_ISDIR(CF_INODE_LOAD(file->inode, mode));
}

static bool is_stream(const struct cf_file *file)
{
	return file->ops && file->ops->stream;
}

static void touch_read(const struct cf_file *file)
{
	if (!(file->flags & O_NOATIME))
		cf_inode_touch_read(file->inode);
}

static int64_t read_at(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	int64_t done;
	if (!file->reads)
		return -EBADF;
	if (offset > INT64_MAX - (int64_t)size)
		return -EINVAL;
	if (is_directory(file))
		return -EISDIR;
	done = file->ops->read(file, to, size, offset);
	if (done > 0 || (done == 0 && size && !is_stream(file)))
		touch_read(file);
	return done;
}

static int64_t write_at(struct cf_task *task, struct cf_file *file, const void *from, size_t size, int64_t *offset)
{
	bool append = file->flags & O_APPEND;
	int64_t done;
	if (!file->writes)
		return -EBADF;
	if (*offset > INT64_MAX - (int64_t)size)
		return -EINVAL;
	done = file->ops->write(file, from, size, offset, append);
	if (done > 0) {
		cf_inode_drop_privileges(file->inode, &task->cred);
		cf_inode_touch_write(file->inode);
	}
	return done;
}

int64_t cf_vfs_read(struct cf_task *task, int fd, void *to, size_t size)
{
	struct cf_file *file = begin(task, fd, READS);
	struct cf_lock_node node;
	int64_t done;
	if (!file)
		return -EBADF;
	if (size > INT64_MAX) {
		done = -EINVAL;
	} else if (is_stream(file)) {
		done = read_at(file, to, size, 0);
	} else {
		cf_lock_take(&file->lock, &node);
		done = read_at(file, to, size, is_directory(file) ? 0 : file->position);
		if (done > 0)
			set_position(file, file->position + done);
		cf_lock_drop(&file->lock, &node);
	}
	end(file);
	return done;
}

int64_t cf_vfs_write(struct cf_task *task, int fd, const void *from, size_t size)
{
	struct cf_file *file = begin(task, fd, WRITES);
	struct cf_lock_node node;
	int64_t done, at = 0;
	if (!file)
		return -EBADF;
	if (size > INT64_MAX) {
		done = -EINVAL;
	} else if (is_stream(file)) {
		done = write_at(task, file, from, size, &at);
	} else {
		cf_lock_take(&file->lock, &node);
		at = file->position;
		done = write_at(task, file, from, size, &at);
		if (done > 0)
			set_position(file, at + done);
		cf_lock_drop(&file->lock, &node);
	}
	end(file);
	return done;
}

// For a call that needs positions: 0 or -errno. What has none is refused without a reference.
static int begin_positioned(struct cf_task *task, int fd, struct cf_file **file)
{
	bool stream;
	cf_rcu_read_lock();
	*file = cf_task_file(task, fd);
	stream = *file && is_stream(*file);
	cf_rcu_read_unlock();
	if (stream)
		return -ESPIPE;
	*file = begin(task, fd, NEITHER);
	if (*file && is_stream(*file)) { // another one by now
		end(*file);
		return -ESPIPE;
	}
	return *file ? 0 : -EBADF;
}

// For a call with an offset of its own: 0 or -errno.
static int begin_at(struct cf_task *task, int fd, size_t size, int64_t offset, struct cf_file **file)
{
	if (offset < 0 || size > INT64_MAX)
		return -EINVAL;
	return begin_positioned(task, fd, file);
}

int64_t cf_vfs_pread(struct cf_task *task, int fd, void *to, size_t size, int64_t offset)
{
	struct cf_file *file;
	int64_t done = begin_at(task, fd, size, offset, &file);
	if (done)
		return done;
	done = read_at(file, to, size, offset);
	end(file);
	return done;
}

int64_t cf_vfs_pwrite(struct cf_task *task, int fd, const void *from, size_t size, int64_t offset)
{
	struct cf_file *file;
	int64_t done = begin_at(task, fd, size, offset, &file);
	if (done)
		return done;
	done = write_at(task, file, from, size, &offset);
	end(file);
	return done;
}

static int64_t end_of(const struct cf_file *file)
{
	struct cf_stat s;
	if (!is_directory(file))
		return (int64_t)CF_INODE_LOAD(file->inode, size);
	cf_inode_stat(file->inode, &s);
	return s.size;
}

static int64_t seek_to(struct cf_file *file, int64_t position, int64_t offset, int whence)
{
	int64_t base = whence == SEEK_CUR ? position : whence == SEEK_END ? end_of(file) : 0;
	int64_t to;
	if (whence == SEEK_DATA || whence == SEEK_HOLE) {
		if (file->ops && file->ops->seek)
			return file->ops->seek(file, offset, whence == SEEK_HOLE);
		base = end_of(file);
		return offset < 0 || offset >= base ? -ENXIO : whence == SEEK_HOLE ? base : offset;
	}
	return __builtin_add_overflow(offset, base, &to) || to < 0 ? -EINVAL : to;
}

int64_t cf_vfs_lseek(struct cf_task *task, int fd, int64_t offset, int whence)
{
	struct cf_file *file;
	struct cf_lock_node node;
	int64_t to = begin_positioned(task, fd, &file);
	if (to)
		return to == -ESPIPE && (whence < SEEK_SET || whence > SEEK_HOLE) ? -EINVAL : to;
	if (whence < SEEK_SET || whence > SEEK_HOLE) {
		to = -EINVAL;
	} else {
		// Where it is already, nothing is written: this is the moment of such a call.
		int64_t at = position_of(file);
		to = seek_to(file, at, offset, whence);
		if (to >= 0 && to != at) {
			cf_lock_take(&file->lock, &node);
			to = seek_to(file, file->position, offset, whence);
			if (to >= 0)
				set_position(file, to);
			cf_lock_drop(&file->lock, &node);
		}
	}
	end(file);
	return to;
}

int cf_vfs_fsync(struct cf_task *task, int fd)
{
	struct cf_file *file = cf_task_file_get(task, fd);
	int error;
	if (!file)
		return -EBADF;
	error = is_stream(file) ? -EINVAL : file->ops && file->ops->sync ? file->ops->sync(file) : 0;
	cf_file_put(file);
	return error;
}

// "." and "..", at positions 0 and 1.
static int dots(const struct cf_file *file, int64_t position, struct cf_dirent *entries, int most)
{
	int count = 0;
	for (; position < 2 && count < most; position++, count++) {
		entries[count] = (struct cf_dirent){ .next = position + 1, .type = S_IFDIR, .length = (uint32_t)position + 1,
						     .name = ".." };
		entries[count].name[position + 1] = '\0';
		entries[count].ino = (position ? cf_dentry_inode_at(&file->dentry->parent) : file->inode)->number;
	}
	return count;
}

static int read_entries(struct cf_file *file, struct cf_dirent *entries, int most)
{
	int64_t position = file->position;
	int count, more = 0;
	cf_rcu_read_lock(); // ".." may be another directory in a moment
	count = dots(file, position, entries, most);
	cf_rcu_read_unlock();
	position += count;
	if (count < most) {
		cf_vfs_sem_read(&file->inode->sem);
		more = CF_INODE_LOAD(file->inode, nlink) ? file->ops->readdir(file, position, entries + count, most - count) :
							   -ENOENT;
		cf_vfs_sem_read_done(&file->inode->sem);
	} else if (!CF_INODE_LOAD(file->inode, nlink)) {
		more = -ENOENT;
	}
	if (more == -ENOENT)
		cf_dentry_await_gone(file->dentry);
	if (more < 0)
		return more;
	count += more;
	if (count)
		set_position(file, entries[count - 1].next);
	return count;
}

int cf_vfs_readdir(struct cf_task *task, int fd, struct cf_dirent *entries, int most)
{
	struct cf_file *file = cf_task_file_get(task, fd); // it may block
	struct cf_lock_node node;
	int count;
	if (!file)
		return -EBADF;
	if (!file->dentry) {
		count = -ENOTDIR;
	} else if (!file->reads) {
		count = -EBADF; // a place: cf_handle.h
	} else if (most <= 0) {
		count = -EINVAL;
	} else {
		cf_lock_take(&file->lock, &node);
		count = read_entries(file, entries, most);
		cf_lock_drop(&file->lock, &node);
		if (count >= 0)
			touch_read(file);
	}
	cf_file_put(file);
	return count;
}

static int change_size(struct cf_task *task, struct cf_inode *inode, int64_t size)
{
	struct cf_attr attr = { .valid = CF_ATTR_SIZE, .size = (uint64_t)size };
	int error;
	cf_inode_drop_privileges(inode, &task->cred);
	error = inode->ops->setattr(inode, &attr, &task->cred);
	if (!error)
		cf_inode_touch_write(inode);
	return error;
}

int cf_vfs_ftruncate(struct cf_task *task, int fd, int64_t size)
{
	struct cf_file *file;
	int error;
	if (size < 0)
		return -EINVAL;
	file = cf_task_file_get(task, fd);
	if (!file)
		return -EBADF;
	error = !file->writes || !S_ISREG(CF_INODE_LOAD(file->inode, mode)) ? -EINVAL : change_size(task, file->inode, size);
	cf_file_put(file);
	cf_vfs_relax(task->vfs);
	return error;
}

int cf_vfs_truncate(struct cf_task *task, const char *path, int64_t size)
{
	struct cf_walk w;
	int error = size < 0 ? -EINVAL : cf_vfs_walk(task, CF_AT_FDCWD, path, CF_WALK_FOLLOW, &w);
	if (error)
		return error;
	struct cf_inode *inode = cf_dentry_inode(w.dentry);
	uint32_t mode = inode ? CF_INODE_LOAD(inode, mode) : 0;
	error = !inode ? -ENOENT : S_ISDIR(mode) ? -EISDIR : !S_ISREG(mode) ? -EINVAL :
		cf_inode_permission(inode, CF_MAY_WRITE, &task->cred, true);
	if (!error)
		error = change_size(task, inode, size);
	cf_dentry_put(w.dentry);
	cf_vfs_relax(task->vfs);
	return error;
}
