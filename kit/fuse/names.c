// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests on names and attributes. A request below a directory opens a place there (cf_handle.h) for as long as it lasts.
#include "front.h"

enum { ROOM_FOR_LINK = CF_PATH_MAX };

static struct timespec timespec_of(struct cf_time t)
{
	return (struct timespec){ t.sec, t.nsec };
}

void stat_of(const struct cf_handle *handle, struct stat *to)
{
	struct cf_stat s;
	cf_handle_stat(handle, &s);
	*to = (struct stat){ .st_ino = s.ino, .st_mode = s.mode, .st_nlink = s.nlink, .st_uid = s.uid, .st_gid = s.gid,
			     .st_size = s.size, .st_blocks = s.blocks, .st_blksize = CF_PAGE };
	to->st_atim = timespec_of(s.atime);
	to->st_mtim = timespec_of(s.mtime);
	to->st_ctim = timespec_of(s.ctime);
}

int entry_from(struct front *front, const struct cf_handle *handle, struct fuse_entry_param *entry)
{
	struct node *node;
	*entry = (struct fuse_entry_param){ .attr_timeout = front->cache, .entry_timeout = front->cache };
	stat_of(handle, &entry->attr);
	node = node_get(front, handle);
	if (!node)
		return -ENOMEM;
	entry->ino = node_number(front, node);
	entry->generation = 1;
	return 0;
}

int entry_of(struct front *front, struct client *client, const struct cf_handle *directory, const char *name,
	     struct fuse_entry_param *entry)
{
	struct cf_handle found;
	int error = cf_handle_lookup(client->task, directory, name, &found);
	return error ? error : entry_from(front, &found, entry);
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct front *front = front_of(request);
	struct client *client = client_of(front, request);
	struct fuse_entry_param entry;
	int error = client ? entry_of(front, client, &node_of(front, parent)->handle, name, &entry) : -ENOMEM;
	if (error == -ENOENT) // the kernel remembers that, too
		entry = (struct fuse_entry_param){ .entry_timeout = front->cache };
	if (error && error != -ENOENT)
		fuse_reply_err(request, -error);
	else if (fuse_reply_entry(request, &entry) == -ENOENT && entry.ino)
		node_forget(front, entry.ino, 1); // interrupted: the kernel does not know of it
	if (client)
		client_put(front, client);
}

static void forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups)
{
	node_forget(front_of(request), number, lookups);
	fuse_reply_none(request);
}

static void forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		node_forget(front_of(request), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(request);
}

static void reply_attributes(fuse_req_t request, fuse_ino_t number)
{
	struct stat s;
	stat_of(&node_of(front_of(request), number)->handle, &s);
	fuse_reply_attr(request, &s, front_of(request)->cache);
}

static void getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
	(void)info;
	reply_attributes(request, number);
}

static struct cf_time time_of(const struct stat *s, int to_set, bool modified)
{
	const struct timespec *t = modified ? &s->st_mtim : &s->st_atim;
	if (to_set & (modified ? FUSE_SET_ATTR_MTIME_NOW : FUSE_SET_ATTR_ATIME_NOW))
		return (struct cf_time){ 0, UTIME_NOW };
	if (!(to_set & (modified ? FUSE_SET_ATTR_MTIME : FUSE_SET_ATTR_ATIME)))
		return (struct cf_time){ 0, UTIME_OMIT };
	return (struct cf_time){ t->tv_sec, t->tv_nsec };
}

static int set_size(struct client *client, const struct node *node, int64_t size, const struct fuse_file_info *info)
{
	const struct file *file = info ? (const struct file *)(uintptr_t)info->fh : NULL;
	int error, fd;
	if (file)
		return cf_vfs_ftruncate(file->client->task, file->fd, size);
	fd = cf_handle_open(client->task, &node->handle, O_WRONLY | CF_O_ANYFD);
	if (fd < 0)
		return fd;
	error = cf_vfs_ftruncate(client->task, fd, size);
	cf_vfs_close(client->task, fd);
	return error;
}

static int set(struct client *client, const struct node *node, const struct stat *s, int what, struct fuse_file_info *info)
{
	struct cf_time times[2] = { time_of(s, what, false), time_of(s, what, true) };
	int place = cf_handle_place(client->task, &node->handle), error = place < 0 ? place : 0;
	if (!error && (what & FUSE_SET_ATTR_MODE))
		error = cf_vfs_fchmod(client->task, place, s->st_mode & 07777);
	if (!error && (what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		error = cf_vfs_fchown(client->task, place, what & FUSE_SET_ATTR_UID ? s->st_uid : UINT32_MAX,
				      what & FUSE_SET_ATTR_GID ? s->st_gid : UINT32_MAX);
	if (!error && (what & FUSE_SET_ATTR_SIZE))
		error = set_size(client, node, s->st_size, info);
	if (!error)
		error = cf_vfs_utimensat(client->task, place, NULL, times, 0);
	if (place >= 0)
		cf_vfs_close(client->task, place);
	return error;
}

static void setattr(fuse_req_t request, fuse_ino_t number, struct stat *s, int what, struct fuse_file_info *info)
{
	struct front *front = front_of(request);
	struct client *client = client_of(front, request);
	int error = client ? set(client, node_of(front, number), s, what, info) : -ENOMEM;
	if (error)
		fuse_reply_err(request, -error);
	else
		reply_attributes(request, number);
	if (client)
		client_put(front, client);
}

static void readlink_of(fuse_req_t request, fuse_ino_t number)
{
	struct front *front = front_of(request);
	char text[ROOM_FOR_LINK];
	int64_t length = cf_handle_readlink(front->own->task, &node_of(front, number)->handle, text, sizeof text - 1);
	if (length < 0) {
		fuse_reply_err(request, (int)-length);
		return;
	}
	text[length] = '\0';
	fuse_reply_readlink(request, text);
}

// --- New names, and names that go. What a request does below its directory, where `place` is.
struct name_request {
	struct front *front;
	struct client *client;
	const struct node *directory, *other; // other: of rename, link
	int place;
	const char *name, *other_name;        // other: of rename; of symlink, its target
	mode_t mode;
	unsigned flags;
};

typedef int action(struct name_request *r);

static int begin(struct name_request *r, fuse_req_t request, fuse_ino_t directory)
{
	r->front = front_of(request);
	r->client = client_of(r->front, request);
	if (!r->client)
		return -ENOMEM;
	r->directory = node_of(r->front, directory);
	r->place = cf_handle_place(r->client->task, &r->directory->handle);
	return r->place < 0 ? r->place : 0;
}

static void end(struct name_request *r)
{
	if (!r->client)
		return;
	if (r->place >= 0)
		cf_vfs_close(r->client->task, r->place);
	client_put(r->front, r->client);
}

static void without_answer(fuse_req_t request, fuse_ino_t directory, struct name_request *r, action *act)
{
	int error = begin(r, request, directory);
	if (!error)
		error = act(r);
	end(r);
	fuse_reply_err(request, -error);
}

static void with_entry(fuse_req_t request, fuse_ino_t directory, struct name_request *r, action *act)
{
	struct fuse_entry_param entry;
	int error = begin(r, request, directory);
	if (!error)
		error = act(r);
	if (!error)
		error = entry_of(r->front, r->client, &r->directory->handle, r->name, &entry);
	if (error)
		fuse_reply_err(request, -error);
	else if (fuse_reply_entry(request, &entry) == -ENOENT)
		node_forget(r->front, entry.ino, 1);
	end(r);
}

static int act_mkdir(struct name_request *r)
{
	return cf_vfs_mkdirat(r->client->task, r->place, r->name, r->mode);
}

static void mkdir_of(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	with_entry(request, parent, &(struct name_request){ .name = name, .mode = mode }, act_mkdir);
}

static int act_mknod(struct name_request *r)
{
	return cf_vfs_mknodat(r->client->task, r->place, r->name, r->mode);
}

static void mknod_of(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)device; // there are no devices: -EPERM
	with_entry(request, parent, &(struct name_request){ .name = name, .mode = mode }, act_mknod);
}

static int act_symlink(struct name_request *r)
{
	return cf_vfs_symlinkat(r->client->task, r->other_name, r->place, r->name);
}

static void symlink_of(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
	with_entry(request, parent, &(struct name_request){ .name = name, .other_name = target }, act_symlink);
}

static int act_link(struct name_request *r)
{
	return cf_handle_link(r->client->task, &r->other->handle, r->place, r->name);
}

static void link_of(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
	struct name_request r = { .name = name, .other = node_of(front_of(request), number) };
	with_entry(request, parent, &r, act_link);
}

static int act_unlink(struct name_request *r)
{
	return cf_vfs_unlinkat(r->client->task, r->place, r->name, (int)r->flags);
}

static void unlink_of(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	without_answer(request, parent, &(struct name_request){ .name = name }, act_unlink);
}

static void rmdir_of(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	without_answer(request, parent, &(struct name_request){ .name = name, .flags = AT_REMOVEDIR }, act_unlink);
}

static int act_rename(struct name_request *r)
{
	int to = cf_handle_place(r->client->task, &r->other->handle), error;
	if (to < 0)
		return to;
	error = cf_vfs_renameat(r->client->task, r->place, r->name, to, r->other_name, r->flags);
	cf_vfs_close(r->client->task, to);
	return error;
}

static void rename_of(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name,
		      unsigned flags)
{
	struct name_request r = { .name = name, .other = node_of(front_of(request), to), .other_name = to_name,
				  .flags = flags };
	without_answer(request, parent, &r, act_rename);
}

void names_requests(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = lookup;
	ops->forget = forget;
	ops->forget_multi = forget_multi;
	ops->getattr = getattr;
	ops->setattr = setattr;
	ops->readlink = readlink_of;
	ops->mkdir = mkdir_of;
	ops->mknod = mknod_of;
	ops->symlink = symlink_of;
	ops->link = link_of;
	ops->unlink = unlink_of;
	ops->rmdir = rmdir_of;
	ops->rename = rename_of;
}
