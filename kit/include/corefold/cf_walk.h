/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_walk.h: walks a path to a dentry, through the dentry cache.
 *
 * Choose cf_walk_rcu to copy data of the file (a stat), cf_walk to keep a reference to it.
 *
 * Cost (CF_VFS_POLICY 5): if all names are cached, the walk stores nothing to shared memory: it is a read section, and the
 * loads of cf_dcache.h for each component. cf_walk takes one reference at the end; cf_walk_rcu none. At a name that is not
 * cached, or an operation that may block, the walk takes a reference on the current dentry and continues with references;
 * if a dentry that it has passed has changed, it restarts with references.
 *
 *   operation                       may overlap    the caller holds                                    progress
 *   cf_walk                         everything     references on root and start; no lock, no read      blocks on a name that
 *                                                  section                                             is being looked up
 *   cf_walk_rcu                     everything     the same                                            the same
 *   cf_walk_rcu with CF_WALK_RCU    everything     the same, and it may be in a read section           lock-free
 *
 * Guarantees (tests/vfs/walk.c):
 *   1. Every component existed in its directory at some moment of the walk, with search permission at that moment.
 *   2. A path of which every component exists during all of the walk, under the same names, is found.
 *   3. Errors as POSIX says: ENOENT (also for ""), ENOTDIR, EACCES, ELOOP (more than 40 links), ENAMETOOLONG (a name
 *      above 255 bytes, a path of 4096 or more).
 *
 * Five lines:
 *   struct cf_walk walk = { .root = root, .start = cwd, .cred = &cred, .flags = CF_WALK_FOLLOW };
 *   int error = cf_walk(&walk, "a/b/c");
 *   if (error) return error;
 *   use(walk.dentry->inode);
 *   cf_dentry_put(walk.dentry);
 *
 * Lifetime: walk->last points into the caller's path. What is passed to fn stays valid during the call.
 *
 * Source: rcu-walk and ref-walk of Linux (2.6.38, fs/namei.c), as Documentation/filesystems/path-lookup describes them.
 */
#ifndef COREFOLD_CF_WALK_H
#define COREFOLD_CF_WALK_H

#include <corefold/cf_dcache.h>

CF_EXTERN_BEGIN

enum {
	CF_WALK_FOLLOW = 1,    /* a symbolic link at the end is followed; a path that ends in a slash always is */
	CF_WALK_DIRECTORY = 2, /* -ENOTDIR unless the end is a directory */
	CF_WALK_PARENT = 4,    /* returns the directory and the last component: for unlink, rename */
	CF_WALK_CREATE = 8,    /* the end may be a negative dentry: for create, link, rename to */
	CF_WALK_REFERENCE = 16,/* no read-section walk: for tests and measurements */
	CF_WALK_RCU = 32       /* of cf_walk_rcu: -EAGAIN where it would need a reference; may be called in a read section */
};

enum cf_walk_last {
	CF_LAST_NORMAL,
	CF_LAST_ROOT,  /* "/" */
	CF_LAST_DOT,   /* "." */
	CF_LAST_DOTDOT /* ".." */
};

struct cf_walk {
	/* In. */
	struct cf_dentry *root;  /* where "/" leads; ".." does not lead above it */
	struct cf_dentry *start; /* where other paths begin */
	const struct cf_cred *cred;
	unsigned flags;
	/* Out, when 0 is returned. */
	struct cf_dentry *dentry; /* referenced: what the path names; with PARENT its directory */
	struct cf_name last;      /* with PARENT: the last component, in the caller's path; of CREATE: its length is 0 if the
				   * path does not end in a name ("/", ".", "..") */
	enum cf_walk_last last_type;
	bool trailing; /* the path ended in a slash */
};

/* 0 or -errno. */
int cf_walk(struct cf_walk *walk, const char *path);

/*
 * Calls fn at the end of the path, in a read section and without a reference: fn only copies data of the inode, by acquire
 * loads, since it may be called again with other values. Returns what the last call of fn returned, or -errno. walk->dentry
 * is not set.
 */
int cf_walk_rcu(struct cf_walk *walk, const char *path,
		int (*fn)(const struct cf_dentry *dentry, const struct cf_inode *inode, void *argument), void *argument);

CF_EXTERN_END

#endif
