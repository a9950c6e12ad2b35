// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests on open files and directories. An open file stays with the task that opened it: its descriptor is a number of that
// task's, and what is written through it is written with that task's credentials.
#include "front.h"

enum { KERNEL_EXEC = 0x20, ENTRIES = 32 }; // open's flag when the kernel starts a program: reading needs no permission

static struct file *file_of(const struct fuse_file_info *info)
{
	return (struct file *)(uintptr_t)info->fh;
}

// What cf_vfs is asked for. Direct reading and writing is between the program and the kernel.
static int flags_of(const struct fuse_file_info *info)
{
	return (info->flags & (O_ACCMODE | O_APPEND | O_TRUNC | O_CREAT | O_EXCL)) | CF_O_ANYFD;
}

// The task's table is full: for the caller's process it is the system's.
static int full(int error)
{
	return error == -EMFILE ? -ENFILE : error;
}

// fd: a descriptor, or -errno. The client's use becomes the file's.
static int new_file(struct client *client, int fd, struct fuse_file_info *info)
{
	struct file *file = fd < 0 ? NULL : malloc(sizeof *file);
	if (fd < 0)
		return full(fd);
	if (!file) {
		cf_vfs_close(client->task, fd);
		return -ENOMEM;
	}
	*file = (struct file){ .client = client, .fd = fd };
	pthread_mutex_init(&file->reading, NULL);
	info->fh = (uintptr_t)file;
	info->keep_cache = 1; // all changes come through the kernel
	return 0;
}

static void free_file(struct front *front, struct file *file)
{
	cf_vfs_close(file->client->task, file->fd);
	client_put(front, file->client);
	pthread_mutex_destroy(&file->reading);
	free(file);
}

static void open_node(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info, int flags)
{
	struct front *front = front_of(request);
	struct client *client = info->flags & KERNEL_EXEC ? client_own(front) : client_of(front, request);
	int error = -ENOMEM;
	if (client)
		error = new_file(client, cf_handle_open(client->task, &node_of(front, number)->handle, flags), info);
	if (error) {
		fuse_reply_err(request, -error);
		if (client)
			client_put(front, client);
	} else if (fuse_reply_open(request, info) == -ENOENT) {
		free_file(front, file_of(info)); // interrupted
	}
}

static void open_of(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	open_node(request, number, info, flags_of(info) & ~(O_CREAT | O_EXCL));
}

static void opendir_of(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	open_node(request, number, info, O_RDONLY | O_DIRECTORY | CF_O_ANYFD);
}

// The entry is that of the open file, whatever has become of the name.
static int create_in(struct front *front, struct client *client, const struct node *directory, const char *name, mode_t mode,
		     struct fuse_file_info *info, struct fuse_entry_param *entry)
{
	struct cf_task *task = client->task;
	struct cf_handle handle;
	int place = cf_handle_place(task, &directory->handle), fd, error;
	if (place < 0)
		return full(place);
	fd = cf_vfs_openat(task, place, name, flags_of(info) | O_CREAT | O_NOFOLLOW, mode);
	cf_vfs_close(task, place);
	error = new_file(client, fd, info);
	if (error)
		return error;
	(void)cf_handle_of(task, fd, &handle); // it is open
	error = entry_from(front, &handle, entry);
	if (error) {
		cf_vfs_close(task, fd);
		free(file_of(info));
	}
	return error;
}

static void create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
	struct front *front = front_of(request);
	struct client *client = client_of(front, request);
	struct fuse_entry_param entry;
	int error = client ? create_in(front, client, node_of(front, parent), name, mode, info, &entry) : -ENOMEM;
	if (error) {
		fuse_reply_err(request, -error);
		if (client)
			client_put(front, client);
	} else if (fuse_reply_create(request, &entry, info) == -ENOENT) {
		free_file(front, file_of(info));
		node_forget(front, entry.ino, 1);
	}
}

static void release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)number;
	free_file(front_of(request), file_of(info));
	fuse_reply_err(request, 0);
}

static void read_of(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info)
{
	const struct file *file = file_of(info);
	char *bytes = malloc(size);
	int64_t done = bytes ? cf_vfs_pread(file->client->task, file->fd, bytes, size, offset) : -ENOMEM;
	(void)number;
	if (done < 0)
		fuse_reply_err(request, (int)-done);
	else
		fuse_reply_buf(request, bytes, (size_t)done);
	free(bytes);
}

static void write_of(fuse_req_t request, fuse_ino_t number, const char *bytes, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	const struct file *file = file_of(info);
	int64_t done = cf_vfs_pwrite(file->client->task, file->fd, bytes, size, offset);
	(void)number;
	if (done < 0)
		fuse_reply_err(request, (int)-done);
	else
		fuse_reply_write(request, (size_t)done);
}

static void fsync_of(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *info)
{
	const struct file *file = file_of(info);
	(void)number, (void)data_only;
	fuse_reply_err(request, -cf_vfs_fsync(file->client->task, file->fd));
}

static void lseek_of(fuse_req_t request, fuse_ino_t number, off_t offset, int whence, struct fuse_file_info *info)
{
	const struct file *file = file_of(info);
	int64_t at = cf_vfs_lseek(file->client->task, file->fd, offset, whence);
	(void)number;
	if (at < 0)
		fuse_reply_err(request, (int)-at);
	else
		fuse_reply_lseek(request, at);
}

// --- Directories. An entry's position is that of cf_vfs, which stays good whatever is added or removed.

// Entries from `offset` on, as far as they fit; how many bytes they are, or -errno.
static int64_t fill(fuse_req_t request, const struct file *file, char *bytes, size_t size, off_t offset)
{
	struct cf_dirent entries[ENTRIES];
	size_t used = 0;
	int count;
	int64_t at = cf_vfs_lseek(file->client->task, file->fd, offset, SEEK_SET);
	if (at < 0)
		return at;
	while ((count = cf_vfs_readdir(file->client->task, file->fd, entries, ENTRIES)) > 0)
		for (int i = 0; i < count; i++) {
			struct stat s = { .st_ino = entries[i].ino, .st_mode = entries[i].type };
			size_t more = fuse_add_direntry(request, bytes + used, size - used, entries[i].name, &s,
							entries[i].next);
			if (more > size - used)
				return (int64_t)used;
			used += more;
		}
	return used || !count ? (int64_t)used : count;
}

static void readdir_of(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct file *file = file_of(info);
	char *bytes = malloc(size);
	int64_t used = -ENOMEM;
	(void)number;
	if (bytes) {
		pthread_mutex_lock(&file->reading);
		used = fill(request, file, bytes, size, offset);
		pthread_mutex_unlock(&file->reading);
	}
	if (used == -ENOENT) // a directory that has been removed is empty
		used = 0;
	if (used < 0)
		fuse_reply_err(request, (int)-used);
	else
		fuse_reply_buf(request, bytes, (size_t)used);
	free(bytes);
}

static void statfs_of(fuse_req_t request, fuse_ino_t number)
{
	struct front *front = front_of(request);
	struct cf_statvfs s;
	int error = cf_vfs_statvfs(front->own->task, "/", &s);
	struct statvfs to;
	(void)number;
	if (error) {
		fuse_reply_err(request, -error);
		return;
	}
	to = (struct statvfs){ .f_bsize = s.bsize, .f_frsize = s.bsize, .f_blocks = (fsblkcnt_t)s.blocks,
			       .f_bfree = (fsblkcnt_t)s.bfree, .f_bavail = (fsblkcnt_t)s.bavail,
			       .f_files = (fsfilcnt_t)s.files, .f_ffree = (fsfilcnt_t)s.ffree,
			       .f_favail = (fsfilcnt_t)s.ffree, .f_namemax = s.namemax };
	fuse_reply_statfs(request, &to);
}

void files_requests(struct fuse_lowlevel_ops *ops)
{
	ops->open = open_of;
	ops->create = create;
	ops->release = release;
	ops->read = read_of;
	ops->write = write_of;
	ops->fsync = fsync_of;
	ops->lseek = lseek_of;
	ops->opendir = opendir_of;
	ops->readdir = readdir_of;
	ops->releasedir = release;
	ops->fsyncdir = fsync_of;
	ops->statfs = statfs_of;
}
