// SPDX-License-Identifier: MIT OR Apache-2.0
// The reference model: a file system of one thread, as simple as can be. Names in a list, pages in a list, no caches, nothing
// is freed before the end. What cf_vfs returns is compared with it; it is compared with the real kernel (kernel_compare.c).
#ifndef KIT_TESTS_VFS_MODEL_H
#define KIT_TESTS_VFS_MODEL_H

#include "call.h"

enum { MODEL_FDS = 1024 };

struct page {
	int64_t index;
	uint8_t *bytes;
};

struct entry {
	char *name;
	struct node *node;
};

struct node {
	uint64_t ino;
	uint32_t mode, nlink, uid, gid;
	struct cf_time atime, mtime, ctime;
	int64_t size;
	struct page *pages; // in order of index
	int64_t page_count;
	struct entry *entries;
	int64_t entry_count;
	struct node *parent; // directories; stays when removed
	char *target;
	uint8_t *ring; // pipes: what was written and not read
	int64_t ring_used;
	int readers, writers;
	bool stream;   // pipes: the buffer is there, from the first open on
	int holds;     // open files and working directories
	bool linked;   // false: a pipe without a name, which costs its buffer alone
	bool freed;
	struct node *next_made;
};

// An open file: what descriptors share.
struct file {
	struct node *node;
	int64_t position;
	int flags, references;
	bool reads, writes;
};

struct model_task {
	struct cred cred;
	uint32_t umask;
	struct node *cwd;
	struct file *fds[MODEL_FDS];
	bool reserved[MODEL_FDS]; // by a call that has not ended: history.c
};

struct model_options {
	int64_t bytes, inodes; // 0: no limit
	int fds;               // descriptors of a task
	bool guard_links;      // as sysctl fs.protected_hardlinks
	struct cred creds[MODEL_TASKS];
	uint32_t root_mode;
};

struct model {
	struct model_options limits;
	int64_t bytes_free, inodes_free;
	struct cf_time now; // set by the caller before each call
	int any_fd;         // not negative: the number that the next descriptor gets, not the lowest (CF_O_ANYFD)
	uint64_t next_ino;
	struct node *root, *made;
	struct model_task tasks[MODEL_TASKS];
};

struct model *model_new(const struct model_options *options);
void model_free(struct model *model);
void model_call(void *model, const struct call *call, struct result *result);

// Below: between the model's own files.
enum { WALK_PARENT = 1, WALK_FOLLOW = 2, WALK_DIRECTORY = 4 };
enum last { LAST_NAME, LAST_DOT, LAST_DOTDOT, LAST_ROOT };

struct place {
	struct node *dir; // WALK_PARENT: the directory of the last component
	char *last;       // heap: its name
	enum last type;
	bool slash;       // slashes behind it
	int links;        // followed so far
	struct node *node; // what the path names; with WALK_PARENT null
};

int model_name_check(const char *path);
int model_walk(struct model *m, struct model_task *t, int dir, const char *path, int how, struct place *place);
// The same from a directory, and the links already followed counted on.
int model_walk_from(struct model *m, struct model_task *t, struct node *from, const char *path, int how, struct place *place);
int model_permission(const struct model_task *t, const struct node *node, uint32_t mask);
bool model_in_group(const struct cred *cred, uint32_t gid);
struct entry *model_find(struct node *dir, const char *name, int *error);
struct file *model_file(struct model_task *t, int fd);
int model_free_fd(struct model *m, struct model_task *t);
struct file *model_file_new(struct node *node, int flags);
int model_take(struct model *m, int64_t bytes, int64_t inodes);
struct node *model_node(struct model *m, struct model_task *t, struct node *dir, uint32_t mode);
void model_release(struct model *m, struct node *node);
void model_touch_read(struct model *m, struct node *node);
void model_touch_write(struct model *m, struct node *node);
void model_set_size(struct model *m, struct node *node, int64_t size);
void model_drop_privileges(struct model_task *t, struct node *node);
int64_t model_pages_charge(const struct node *node);
int model_make_stream(struct model *m, struct node *node); // -ENOSPC
void model_close_file(struct model *m, struct file *file);
int model_make(struct model *m, struct model_task *t, struct node *dir, const char *name, uint32_t mode, const char *target,
	       struct node **made);

void model_names_call(struct model *m, struct model_task *t, const struct call *c, struct result *r);
void model_files_call(struct model *m, struct model_task *t, const struct call *c, struct result *r);
void model_attributes_call(struct model *m, struct model_task *t, const struct call *c, struct result *r);
int64_t model_open(struct model *m, struct model_task *t, const struct call *c);

#endif
