// SPDX-License-Identifier: MIT OR Apache-2.0
// Pipes, with a name and without, and pairs of connected sockets. Without a name they belong to no directory and cost no inode
// of the limit, as in Linux; their buffers cost bytes. The errors where there are none are Linux's for its limit of pipes.
#include "vfs.h"

static int ends_of(const struct cf_file *file)
{
	return (file->reads ? CF_STREAM_READER : 0) | (file->writes ? CF_STREAM_WRITER : 0);
}

static bool never_waits(const struct cf_file *file)
{
	return file->flags & O_NONBLOCK;
}

// --- Pipes.

// Made by the first open. A writer that does not wait makes none: nobody can have it open for reading.
static int stream_of(struct cf_file *file, struct cf_stream **stream)
{
	struct cf_stream **place = (struct cf_stream **)&file->inode->private_data, *made;
	bool unnamed = file->inode->flags & CF_INODE_UNNAMED;
	int error;
	// Acquire: of who has made it. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	*stream = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (*stream)
		return 0;
	if (!unnamed && never_waits(file) && !file->reads)
		return -ENXIO;
	error = cf_stream_new(vfs_of(file->inode), &made);
	if (error)
		return error == -ENOSPC && unnamed ? -ENFILE : -ENOMEM;
	// Release: the stream before the pointer; acquire: of who was faster.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (__atomic_compare_exchange_n(place, stream, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		*stream = made;
	else
		cf_stream_free(vfs_of(file->inode), made);
	return 0;
}

static int fifo_open(struct cf_file *file)
{
	struct cf_stream *stream;
	bool waits = !never_waits(file) && !(file->inode->flags & CF_INODE_UNNAMED); // for the other end, as POSIX says
	int error = stream_of(file, &stream);
	file->private_data = stream;
	return error ? error : cf_stream_open(stream, ends_of(file), waits, never_waits(file));
}

static void fifo_release(struct cf_file *file)
{
	cf_stream_close(file->private_data, ends_of(file));
}

static int64_t fifo_read(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	(void)offset;
	return cf_stream_read(file->private_data, to, size, never_waits(file));
}

static int64_t fifo_write(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append)
{
	(void)offset, (void)append;
	return cf_stream_write(file->private_data, from, size, never_waits(file));
}

const struct cf_file_ops cf_fifo_ops = { .read = fifo_read, .write = fifo_write, .open = fifo_open, .release = fifo_release,
					 .waits = true, .stream = true };

// --- Sockets: an inode and a dentry each, as on Linux; they share the two streams.

struct pair {
	struct cf_stream *to[2];
	int ends; // atomic: inodes
};

struct endpoint {
	struct pair *pair;
	int side;
	struct cf_dentry *dentry; // while it is open
};

static struct cf_stream *incoming(const struct cf_file *file)
{
	const struct endpoint *e = file->inode->private_data;
	return e->pair->to[e->side];
}

static struct cf_stream *outgoing(const struct cf_file *file)
{
	const struct endpoint *e = file->inode->private_data;
	return e->pair->to[!e->side];
}

static int socket_open(struct cf_file *file)
{
	struct endpoint *e = file->inode->private_data;
	e->dentry = cf_dentry_pseudo(&file->vfs->super, file->inode);
	if (!e->dentry)
		return -ENOMEM;
	cf_stream_open(incoming(file), CF_STREAM_READER, false, false);
	cf_stream_open(outgoing(file), CF_STREAM_WRITER, false, false);
	return 0;
}

static void socket_release(struct cf_file *file)
{
	struct endpoint *e = file->inode->private_data;
	cf_dentry_put(e->dentry); // the file keeps the inode
	cf_stream_close(incoming(file), CF_STREAM_READER);
	cf_stream_close(outgoing(file), CF_STREAM_WRITER);
}

static int64_t socket_read(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	(void)offset;
	return cf_stream_read(incoming(file), to, size, never_waits(file));
}

static int64_t socket_write(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append)
{
	(void)offset, (void)append;
	return cf_stream_write(outgoing(file), from, size, never_waits(file));
}

const struct cf_file_ops cf_socket_ops = { .read = socket_read, .write = socket_write, .open = socket_open,
					   .release = socket_release, .waits = true, .stream = true };

static void put_pair(struct cf_vfs *vfs, struct pair *pair)
{
	// Acquire and release: with the other end. x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (__atomic_sub_fetch(&pair->ends, 1, __ATOMIC_ACQ_REL))
		return;
	cf_stream_free(vfs, pair->to[0]);
	cf_stream_free(vfs, pair->to[1]);
	free(pair);
}

void cf_socket_evict(struct cf_inode *inode)
{
	struct endpoint *e = inode->private_data;
	if (!e) // a name in a directory, that no process listens on
		return;
	put_pair(vfs_of(inode), e->pair);
	free(e);
}

static int new_pair(struct cf_vfs *vfs, struct pair **made)
{
	struct pair *pair = calloc(1, sizeof *pair);
	int error = pair ? cf_stream_new(vfs, &pair->to[0]) : -ENOMEM;
	if (!pair)
		return error;
	error = error ? error : cf_stream_new(vfs, &pair->to[1]);
	pair->ends = 1;
	*made = pair;
	if (error)
		put_pair(vfs, pair);
	return error == -ENOSPC ? -ENOBUFS : error;
}

static struct cf_inode *new_endpoint(struct cf_task *task, struct pair *pair, int side)
{
	struct endpoint *e = malloc(sizeof *e);
	struct cf_inode *inode = e ? cf_memory_inode(task->vfs, S_IFSOCK | 0777, &task->cred) : NULL;
	if (!inode) {
		free(e);
		return NULL;
	}
	*e = (struct endpoint){ .pair = pair, .side = side };
	__atomic_add_fetch(&pair->ends, 1, __ATOMIC_RELAXED); // relaxed: the caller has one
	inode->private_data = e;
	inode->file_ops = &cf_socket_ops;
	return inode;
}

// --- Two descriptors at once.

struct two {
	struct cf_inode *inodes[2]; // referenced
	int flags[2];
};

static int open_two(struct cf_task *task, const struct two *two, int fds[2], int flags)
{
	struct cf_file *files[2] = { NULL, NULL };
	int error = 0, got = 0;
	for (; got < 2 && !error; got += !error) {
		fds[got] = cf_fd_reserve(task, flags);
		error = fds[got] < 0 ? fds[got] : 0;
	}
	for (int i = 0; i < 2; i++)
		if (error)
			cf_inode_put(two->inodes[i]);
		else
			error = cf_file_open(task->vfs, two->inodes[i], 0, NULL, two->flags[i] | (flags & O_NONBLOCK), &files[i]);
	if (error && files[0]) {
		cf_file_put(files[0]);
		files[0] = NULL;
	}
	for (int i = got - 1; i >= 0; i--)
		cf_fd_set(task, fds[i], files[i]);
	cf_vfs_relax(task->vfs);
	return error;
}

static bool is_allowed(const struct cf_task *task, int flags)
{
	return task->vfs->options.backend == &cf_backend_memory && !(flags & ~(O_NONBLOCK | O_CLOEXEC | CF_O_ANYFD));
}

int cf_vfs_pipe(struct cf_task *task, int fds[2], int flags)
{
	struct two two = { .flags = { O_RDONLY, O_WRONLY } };
	if (!is_allowed(task, flags))
		return -EINVAL;
	two.inodes[0] = two.inodes[1] = cf_memory_inode(task->vfs, S_IFIFO | 0600, &task->cred);
	if (!two.inodes[0])
		return -ENOMEM;
	cf_inode_get(two.inodes[0]);
	return open_two(task, &two, fds, flags);
}

int cf_vfs_socketpair(struct cf_task *task, int fds[2], int flags)
{
	struct two two = { .flags = { O_RDWR, O_RDWR } };
	struct pair *pair;
	int error = is_allowed(task, flags) ? new_pair(task->vfs, &pair) : -EINVAL;
	if (error)
		return error;
	for (int side = 0; side < 2; side++)
		two.inodes[side] = new_endpoint(task, pair, side);
	put_pair(task->vfs, pair);
	if (two.inodes[0] && two.inodes[1])
		return open_two(task, &two, fds, flags);
	cf_inode_put(two.inodes[0]);
	cf_inode_put(two.inodes[1]);
	return -ENOMEM;
}
