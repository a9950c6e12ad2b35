// SPDX-License-Identifier: MIT OR Apache-2.0
// Between the files of cf_vfs.
//   fs.c        a file system: made, freed, its clock
//   limits.c    its limits, and the memory that they are for
//   inode.c     attributes: times, link counts, what chmod and its like may change
//   task.c      tasks: credentials, root and working directory
//   fd.c        descriptors and open files
//   namei.c     paths to dentries
//   changes.c   when a file of several names was changed
//   peek.c      what the name cache knows already
//   open.c, names.c, rename_call.c, change.c   calls on paths
//   holds.c     open files' references on inodes, a table for each CPU
//   place.c     a name that is about to change, and its lock
//   handle.c    calls on files that are named by themselves
//   io.c        calls on descriptors
//   memory.c, memory_dir.c, memory_names.c   the backend in memory
//   passthrough.c, passthrough_files.c   the backend that passes through to a directory
//   pipe.c, stream.c   pipes and sockets
#ifndef KIT_SRC_VFS_VFS_H
#define KIT_SRC_VFS_VFS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_backend.h>
#include <corefold/cf_mapping.h>
#include <corefold/cf_walk.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CF_VFS_NAME_SIZES = 3 };

struct cf_vfs {
	struct cf_super super;
	struct cf_space space;       // blocks: bytes
	struct cf_lru files;         // open files: one list, or one for each CPU
	struct cf_vfs_count cached;  // bytes that the cache is charged: free for everybody else
	struct cf_slab file_memory;
	struct cf_slab name_memory[CF_VFS_NAME_SIZES];
	struct cf_vfs_options options;
	int64_t most_dentries;       // in the cache, before unused ones are dropped
	uint32_t crowded;            // atomic; 1: a charge of the cache was refused since it was last shrunk
	struct cf_inode *root;       // the backend's
};

struct cf_task {
	struct cf_vfs *vfs;
	void *memory;                // that it lies in
	struct cf_cred cred;
	uint32_t *groups;
	uint32_t umask;              // atomic
	int limit;                   // descriptors; atomic
	int top;                     // the highest limit so far: none is open above
	struct cf_dentry *cwd;       // read in read sections, replaced under `lock`
	// Written where the lowest descriptor is asked for.
	struct cf_lock lock CF_LINE_ALIGNED;
	int lowest;                  // no free descriptor below; under `lock`, and lowered by close
	struct cf_file *fds[CF_TASK_FDS] CF_LINE_ALIGNED; // by cf_task_slot
};

// Neighbours lie on lines of their own, so that threads of a task that use different descriptors share none.
static inline struct cf_file **cf_task_slot(struct cf_task *task, int fd)
{
	enum { ON_A_LINE = CF_VFS_FILES_PERCPU ? CF_LINE / sizeof(void *) : 1, LINES = CF_TASK_FDS / ON_A_LINE };
	return &task->fds[fd % LINES * ON_A_LINE + fd / LINES];
}

static inline struct cf_vfs *vfs_of(const struct cf_inode *inode)
{
	return ((struct cf_super *)inode->super)->private_data;
}

// Nanoseconds, or the first or last that there are: from 1677 to 2262, as in file systems that keep 64 bits of them.
static inline int64_t cf_ns_of(int64_t sec, int64_t nsec)
{
	int64_t ns;
	if (__builtin_mul_overflow(sec, INT64_C(1000000000), &ns) || __builtin_add_overflow(ns, nsec, &ns))
		return sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static inline struct cf_time cf_time_of(int64_t ns)
{
	int64_t rest = ns % 1000000000;
	return (struct cf_time){ ns / 1000000000 - (rest < 0), rest < 0 ? rest + 1000000000 : rest };
}

// fs.c
int64_t cf_vfs_now(const struct cf_vfs *vfs);
// Where a call ends, outside of read sections and locks: bounds what waits in caches and for grace periods.
void cf_vfs_relax(struct cf_vfs *vfs);

// limits.c
extern const struct cf_super_ops cf_vfs_charged; // of a file system with a limit
int cf_vfs_limits_init(struct cf_vfs *vfs);
void cf_vfs_limits_destroy(struct cf_vfs *vfs);
int cf_vfs_take(struct cf_vfs *vfs, int64_t bytes, int64_t inodes);
void cf_vfs_give(struct cf_vfs *vfs, int64_t bytes, int64_t inodes);
void cf_vfs_statvfs_of(struct cf_vfs *vfs, struct cf_statvfs *stat);
// The slabs of open files and of directories' entries; those for entries of this many bytes.
int cf_vfs_memory_init(struct cf_vfs *vfs);
void cf_vfs_memory_destroy(struct cf_vfs *vfs);
void cf_vfs_memory_shrink(struct cf_vfs *vfs);
struct cf_slab *cf_vfs_name_memory(struct cf_vfs *vfs, size_t size);

// inode.c
void cf_inode_stat(const struct cf_inode *inode, struct cf_stat *stat);
void cf_inode_touch_read(struct cf_inode *inode);
void cf_inode_touch_write(struct cf_inode *inode);
void cf_inode_touch_change(struct cf_inode *inode);
void cf_inode_drop_privileges(struct cf_inode *inode, const struct cf_cred *cred);
// False: it has no link any more, so it gets none.
bool cf_inode_add_links(struct cf_inode *inode, int links, bool from_none);
void cf_inode_add_entries(struct cf_inode *dir, int64_t entries);
void cf_inode_touch_at(struct cf_inode *inode, int64_t time); // written then, unless it was later
bool cf_cred_in_group(const struct cf_cred *cred, uint32_t gid);
bool cf_cred_owns(const struct cf_cred *cred, const struct cf_inode *inode);
// Stores the fields that `attr` says, and ctime.
void cf_inode_set(struct cf_inode *inode, const struct cf_attr *attr);

// fd.c: in a read section; null: there is none.
struct cf_file *cf_task_file(struct cf_task *task, int fd);
// In a read section: a reference. False: it had none any more, and has left its slot, where another may be (dup2).
bool cf_file_grab(struct cf_file *file);
// Referenced, or null.
struct cf_file *cf_task_file_get(struct cf_task *task, int fd);
void cf_file_put(struct cf_file *file);
// Reserves a descriptor: -EMFILE if there is none. It is free again, or `file` is put there.
int cf_fd_reserve(struct cf_task *task, int flags);
void cf_fd_set(struct cf_task *task, int fd, struct cf_file *file);
// A new open file on the inode, whose reference or hold, and the dentry's, it takes over, also on failure.
int cf_file_open(struct cf_vfs *vfs, struct cf_inode *inode, uint32_t hold, struct cf_dentry *dentry, int flags,
		 struct cf_file **file);

// The same without the backend's open: for calls that name the inode, and neither read nor write.
int cf_file_place(struct cf_vfs *vfs, struct cf_inode *inode, struct cf_dentry *dentry, struct cf_file **file);

// open.c: the references stay the caller's. made: the caller has just made it, and may do what it asks for.
int cf_open_check(const char *path, int flags);
int cf_open_inode(struct cf_task *task, struct cf_inode *inode, struct cf_dentry *dentry, int flags, bool made,
		  struct cf_file **file);
// names.c
int64_t cf_inode_readlink(struct cf_inode *inode, char *to, size_t size);
int cf_inode_link(struct cf_task *task, struct cf_inode *inode, int to_dir, const char *to); // null: -ENOENT

// namei.c
// The dentry a path leads to, referenced. flags: CF_WALK_*.
int cf_vfs_walk(struct cf_task *task, int dir, const char *path, unsigned flags, struct cf_walk *walk);
int cf_vfs_start(struct cf_task *task, int dir, const char *path, struct cf_walk *walk);
struct cf_dentry *cf_vfs_cwd(struct cf_task *task); // referenced
// The inode a path leads to, without a reference on its name. NOT_KNOWN: only cf_vfs_walk can tell, as of all directories.
enum { CF_VFS_NOT_KNOWN = 1 };
struct cf_held {
	struct cf_inode *inode;
	uint32_t hold;
};
int cf_vfs_hold(struct cf_task *task, int dir, const char *path, unsigned flags, struct cf_held *held);
// peek.c: what the name cache knows of a path's last name; in the caller's read section.
enum cf_vfs_known { CF_KNOWN_NOT, CF_KNOWN_ABSENT, CF_KNOWN_PRESENT };
struct cf_vfs_peek {
	struct cf_dentry *dentry, *directory;
	struct cf_name name;         // in the path
	uint32_t seq;                // the dentry was so while this is unchanged
	bool trailing;
};
enum cf_vfs_known cf_vfs_peek(struct cf_task *task, int dir, const char *path, struct cf_vfs_peek *peek);
// The directory of the path's last name is known, which is neither "." nor "..": whether the name is there has no bearing.
bool cf_vfs_knows_directory(struct cf_task *task, int dir, const char *path);
// -ENOENT: it is known that there is no such name. -EEXIST: that there is. Else 0.
int cf_vfs_known_absent(struct cf_task *task, int dir, const char *path);
int cf_vfs_known_present(struct cf_task *task, int dir, const char *path);
uint32_t cf_vfs_new_mode(struct cf_task *task, const struct cf_inode *dir, uint32_t mode);
// With the directory's sem held.
int cf_vfs_may_create(struct cf_task *task, const struct cf_dentry *parent, struct cf_inode *dir);
int cf_vfs_may_delete(struct cf_task *task, struct cf_inode *dir, struct cf_inode *victim, bool directory);

// memory.c. inode->flags: it has no name, and is charged to nobody: a stream's charge includes it.
enum { CF_INODE_UNNAMED = 1 };
struct cf_inode *cf_memory_inode(struct cf_vfs *vfs, uint32_t mode, const struct cf_cred *cred);
extern const struct cf_inode_ops cf_memory_inode_ops;
extern const struct cf_file_ops cf_memory_file_ops, cf_memory_directory_ops;

// memory_dir.c: a directory's entries. The name's lock is held, or all.
struct cf_memory_entry;
struct cf_memory_parts;
struct cf_memory_dir {
	struct cf_memory_parts *parts;
};
bool cf_memory_dir_init(struct cf_memory_dir *dir); // false: no memory
void cf_memory_dir_destroy(struct cf_memory_dir *dir);
struct cf_mutex *cf_memory_name_lock(struct cf_inode *dir, const struct cf_name *name);
void cf_memory_lock_all(const struct cf_memory_dir *dir);
void cf_memory_unlock_all(const struct cf_memory_dir *dir);
// A name has come (1), gone (-1), or is another inode's (0).
void cf_memory_changed(struct cf_inode *dir, const struct cf_name *name, int64_t entries);
void cf_memory_tally(const struct cf_inode *dir, int64_t *size, int64_t *changed);
void cf_memory_settle(struct cf_inode *dir, bool forget);
struct cf_inode *cf_memory_find(const struct cf_memory_dir *dir, const struct cf_name *name);
struct cf_memory_entry *cf_memory_entry_new(struct cf_vfs *vfs, const struct cf_name *name, struct cf_inode *inode);
void cf_memory_entry_free(struct cf_vfs *vfs, struct cf_memory_entry *entry); // null is allowed
void cf_memory_add(struct cf_memory_dir *dir, struct cf_memory_entry *entry);
// Null: there is none. The caller frees it.
struct cf_memory_entry *cf_memory_remove(struct cf_memory_dir *dir, const struct cf_name *name);
struct cf_memory_entry *cf_memory_first(const struct cf_memory_dir *dir, int64_t position);
// The name's inode becomes another one; returns the old one.
struct cf_inode *cf_memory_replace(struct cf_memory_dir *dir, const struct cf_name *name, struct cf_inode *inode);
struct cf_inode *cf_memory_entry_inode(const struct cf_memory_entry *entry);
int64_t cf_memory_entry_copy(const struct cf_memory_entry *entry, struct cf_dirent *to); // its position
struct cf_memory_dir *cf_memory_dir_of(struct cf_inode *inode);

// stream.c: what pipes and sockets pass on.
struct cf_stream;
int cf_stream_new(struct cf_vfs *vfs, struct cf_stream **stream); // charged: 0, -ENOSPC or -ENOMEM
void cf_stream_free(struct cf_vfs *vfs, struct cf_stream *stream); // null is allowed
enum { CF_STREAM_READER = 1, CF_STREAM_WRITER = 2 };
// -ENXIO: a writer that must not wait, and nobody reads.
int cf_stream_open(struct cf_stream *stream, int ends, bool wait_for_other, bool nonblocking);
void cf_stream_close(struct cf_stream *stream, int ends);
int64_t cf_stream_read(struct cf_stream *stream, void *to, size_t size, bool nonblocking);
int64_t cf_stream_write(struct cf_stream *stream, const void *from, size_t size, bool nonblocking);

// pipe.c
extern const struct cf_file_ops cf_fifo_ops, cf_socket_ops;
void cf_socket_evict(struct cf_inode *inode);

#endif
