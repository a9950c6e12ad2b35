// SPDX-License-Identifier: MIT OR Apache-2.0
// A name that is about to change, and its lock: place.c.
#ifndef KIT_SRC_VFS_PLACE_H
#define KIT_SRC_VFS_PLACE_H

#include "vfs.h"

struct cf_place {
	struct cf_dentry *child;   // the name's, referenced; positive or negative
	struct cf_dentry *parent;  // of the directory: `above`, or kept by the child
	struct cf_dentry *above;   // referenced, or null
	struct cf_inode *dir;
	struct cf_mutex *lock;     // null: the directory's sem
	struct cf_name name;
	bool trailing;             // a slash followed
};

// Locked; cf_place_end puts references, too. *type is not CF_LAST_NORMAL: the path ends in no name, and nothing is locked.
int cf_place_begin(struct cf_task *task, int fd, const char *path, struct cf_place *place, enum cf_walk_last *type);
void cf_place_end(struct cf_place *place);

// What is known of a path's last name, in a read section, which lasts until it is locked. False: not to be used; the child's
// reference (which may be null) is to be put in any case, behind the section.
bool cf_place_find(struct cf_task *task, int fd, const char *path, struct cf_place *place);
// Locks two that were found. False: they have no locks, or are not those names' any more.
bool cf_place_lock_two(struct cf_place *a, struct cf_place *b);
void cf_place_unlock_two(struct cf_place *a, struct cf_place *b);
// For who has a name's dentry, which had no inode when it was found; `child` and `name` are filled in.
enum cf_place_result {
	CF_PLACE_LOCKED,
	CF_PLACE_MOVED,  // it is not that name's any more
	CF_PLACE_BY_SEM, // names have no locks there
};
enum cf_place_result cf_place_lock_free(struct cf_place *place);
// Whether the dentry is this name's. The name's lock is held, or it may not be so any more.
bool cf_place_is(struct cf_dentry *child, const struct cf_dentry *parent, const struct cf_name *name);
// `dir` and `name` are filled in, and the caller keeps the directory.
void cf_place_lock_in(struct cf_place *place);
void cf_place_unlock(struct cf_place *place);
// Two names of directories that the caller keeps, and whether they have locks.
bool cf_place_has_locks(const struct cf_dentry *directory);
void cf_place_lock_names(struct cf_dentry *a, const struct cf_name *a_name, struct cf_dentry *b, const struct cf_name *b_name,
			 struct cf_mutex *locks[2]);
void cf_place_unlock_names(struct cf_mutex *locks[2]);

#endif
