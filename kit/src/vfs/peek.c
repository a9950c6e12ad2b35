// SPDX-License-Identifier: MIT OR Apache-2.0
// What the name cache knows, so that calls that must fail, or have nothing to do, write nothing. Without references: names
// that the cache does not know, and walks that would block, are left to the call itself.
#include "dentry.h"
#include "vfs.h"

struct looking {
	const struct cf_walk *walk;
	struct cf_vfs_peek *peek; // null: the directory alone is asked for
	enum cf_vfs_known known;
};

// At the directory.
static int look(const struct cf_dentry *directory, const struct cf_inode *inode, void *argument)
{
	struct looking *l = argument;
	struct cf_dentry_key key;
	struct cf_dentry *d;
	bool positive;
	l->known = CF_KNOWN_NOT;
	if (!inode || l->walk->last_type != CF_LAST_NORMAL || (cf_dentry_flags(directory) & CF_DENTRY_OP_HASH))
		return 0;
	if (!l->peek) {
		l->known = CF_KNOWN_PRESENT;
		return 0;
	}
	cf_dentry_key_of(&key, directory, &l->walk->last);
	d = cf_dentry_search(&key);
	if (!d || (cf_dentry_flags(d) & (CF_DENTRY_LOOKUP | CF_DENTRY_OP_REVALIDATE)))
		return 0;
	*l->peek = (struct cf_vfs_peek){ .dentry = d, .directory = (struct cf_dentry *)(uintptr_t)directory,
					 .name = l->walk->last, .seq = key.seq, .trailing = l->walk->trailing };
	positive = cf_dentry_flags(d) & CF_DENTRY_POSITIVE; // the inode lies on a line that a rename over the name writes
	if (!cf_dentry_seq_changed(d, key.seq))
		l->known = positive ? CF_KNOWN_PRESENT : CF_KNOWN_ABSENT;
	return 0;
}

enum cf_vfs_known cf_vfs_peek(struct cf_task *task, int dir, const char *path, struct cf_vfs_peek *peek)
{
	struct cf_walk w = { .flags = CF_WALK_PARENT | CF_WALK_RCU };
	struct looking l = { &w, peek, CF_KNOWN_NOT };
	int error = CF_VFS_RCU_WALK ? cf_vfs_start(task, dir, path, &w) : -EAGAIN;
	if (error)
		return CF_KNOWN_NOT;
	error = cf_walk_rcu(&w, path, look, &l);
	cf_dentry_put(w.start);
	return error ? CF_KNOWN_NOT : l.known;
}

bool cf_vfs_knows_directory(struct cf_task *task, int dir, const char *path)
{
	return cf_vfs_peek(task, dir, path, NULL) == CF_KNOWN_PRESENT;
}

static enum cf_vfs_known known(struct cf_task *task, int dir, const char *path)
{
	struct cf_vfs_peek peek;
	enum cf_vfs_known result;
	cf_rcu_read_lock();
	result = cf_vfs_peek(task, dir, path, &peek);
	cf_rcu_read_unlock();
	return result;
}

int cf_vfs_known_absent(struct cf_task *task, int dir, const char *path)
{
	return known(task, dir, path) == CF_KNOWN_ABSENT ? -ENOENT : 0;
}

int cf_vfs_known_present(struct cf_task *task, int dir, const char *path)
{
	return known(task, dir, path) == CF_KNOWN_PRESENT ? -EEXIST : 0;
}
