// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A walk stands at a dentry, in one of two modes:
 *   by sequence    in a read section, without references: the dentry is as it was while its sequence count is unchanged,
 *                  which is looked at again after the next dentry (or the end) has been read
 *   by reference   it holds a reference on the dentry, and on the inode of the link whose text it is reading
 * From the first it changes to the second where it stands, when that is still what it was, or begins again (-ECHILD).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "dentry.h"
#include <corefold/cf_walk.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A path that a link has interrupted.
struct frame {
	const char *rest;
	struct cf_inode *owner;
};

struct state {
	struct cf_walk *w;
	const char *path;        // what has not been walked yet
	struct cf_inode *owner;  // the link whose text `path` points into, or null; referenced in that mode
	struct cf_dentry *at;
	struct cf_inode *inode;  // of `at`
	uint32_t seq, file_seq;  // of `at`, by sequence
	bool by_sequence;
	bool directory;          // a slash followed the link that took the path's place
	int links, depth;
	struct frame frames[CF_LINKS_MOST];
};

static void stand_by_sequence(struct state *s, struct cf_dentry *d)
{
	s->at = d;
	s->seq = cf_dentry_seq_begin(d);
	s->file_seq = cf_dentry_file_seq_begin(d);
	s->inode = cf_dentry_inode(d);
}

// Takes over a reference.
static void stand_by_reference(struct state *s, struct cf_dentry *d)
{
	cf_dentry_put(s->at);
	s->at = d;
	s->inode = cf_dentry_inode(d);
}

static void stand(struct state *s, struct cf_dentry *d)
{
	if (s->by_sequence) {
		stand_by_sequence(s, d);
	} else {
		cf_dentry_get(d);
		stand_by_reference(s, d);
	}
}

static void put_owner(struct state *s, struct cf_inode *owner)
{
	if (!s->by_sequence)
		cf_inode_put(owner);
}

// From sequence to references, where it stands. Texts of links would need theirs, too: then from the beginning.
static int take_reference(struct state *s)
{
	struct cf_dentry *d = s->at;
	if (s->w->flags & CF_WALK_RCU)
		return -EAGAIN;
	if (s->owner || s->depth || !cf_dentry_grab(d))
		return -ECHILD;
	CF_TEST_POINT("walk: grabbed");
	s->by_sequence = false;
	if (!cf_dentry_seq_changed(d, s->seq)) {
		cf_rcu_read_unlock();
		return 0;
	}
	s->at = NULL;
	cf_rcu_read_unlock();
	cf_dentry_put(d);
	return -ECHILD;
}

static bool changed(const struct state *s)
{
	return s->by_sequence &&
	       (cf_dentry_seq_changed(s->at, s->seq) || cf_dentry_file_seq_changed(s->at, s->file_seq));
}

// Whether the walk may look for names in `at`.
static int may_search(struct state *s)
{
	int result;
	if (!s->inode || !S_ISDIR(CF_INODE_LOAD(s->inode, mode)))
		return changed(s) ? -ECHILD : -ENOTDIR;
	result = cf_inode_permission(s->inode, CF_MAY_EXEC, s->w->cred, !s->by_sequence);
	if (result == -ECHILD && s->by_sequence) {
		result = take_reference(s);
		return result ? result : cf_inode_permission(s->inode, CF_MAY_EXEC, s->w->cred, true);
	}
	return result && changed(s) ? -ECHILD : result;
}

// --- The parts of a path.

static const char *skip_slashes(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static bool is_last(const struct state *s)
{
	return !*s->path && !s->depth;
}

static int next_name(struct state *s, struct cf_name *name)
{
	const char *begin = s->path, *end = strchrnul(begin, '/');
	size_t length = (size_t)(end - begin);
	if (length > CF_NAME_MOST)
		return -ENAMETOOLONG;
	*name = cf_name_of(begin, length);
	s->path = skip_slashes(end);
	s->w->trailing = end != s->path && is_last(s);
	return 0;
}

static enum cf_walk_last type_of(const struct cf_name *name)
{
	if (name->bytes[0] != '.' || name->length > 2 || (name->length == 2 && name->bytes[1] != '.'))
		return CF_LAST_NORMAL;
	return name->length == 1 ? CF_LAST_DOT : CF_LAST_DOTDOT;
}

static int go_up(struct state *s)
{
	struct cf_dentry *parent;
	if (s->at == s->w->root)
		return 0;
	if (s->by_sequence) {
		struct cf_dentry *here = s->at;
		uint32_t seq = s->seq;
		parent = cf_dentry_parent(here);
		stand_by_sequence(s, parent);
		CF_TEST_POINT("walk: going up");
		return cf_dentry_seq_changed(here, seq) ? -ECHILD : 0;
	}
	stand_by_reference(s, cf_dentry_grab_at(&s->at->parent));
	return 0;
}

// --- Links.

// The text of a link, for as long as there is the inode.
static int text_of(struct cf_inode *inode, const char **text)
{
	char buffer[CF_PATH_MOST], *copy;
	const char *none = NULL;
	int length;
	*text = CF_INODE_LOAD(inode, link);
	if (*text)
		return 0;
	if (!inode->ops || !inode->ops->readlink)
		return -EINVAL;
	length = inode->ops->readlink(inode, buffer, sizeof buffer);
	if (length < 0)
		return length;
	copy = strdup(buffer);
	if (!copy)
		return -ENOMEM;
	// Release: the text before the pointer. Who comes second takes the first one's.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (__atomic_compare_exchange_n(&inode->link, &none, copy, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		*text = copy;
	} else {
		free(copy);
		*text = none;
	}
	return 0;
}

// Goes on with the link's text; takes over a reference on the inode. A link at the end of a path takes its place.
static int follow(struct state *s, struct cf_inode *link, const char *text)
{
	if (++s->links > CF_LINKS_MOST || !*text) {
		put_owner(s, link);
		return *text ? -ELOOP : -ENOENT;
	}
	if (is_last(s))
		s->directory |= s->w->trailing;
	if (*s->path) {
		s->frames[s->depth++] = (struct frame){ s->path, s->owner };
	} else {
		put_owner(s, s->owner);
	}
	s->owner = link;
	s->path = skip_slashes(text);
	if (*text == '/')
		stand(s, s->w->root);
	return 0;
}

// A slash behind the end follows links, and those that they lead to; but not where the end may be made: then it is an error.
static bool follows(const struct state *s, bool trailing)
{
	if (!is_last(s))
		return true;
	if (s->w->flags & CF_WALK_CREATE)
		return !trailing && (s->w->flags & CF_WALK_FOLLOW);
	return trailing || s->directory || (s->w->flags & CF_WALK_FOLLOW);
}

// --- One name.

static int step_by_reference(struct state *s, const struct cf_name *name, bool trailing)
{
	struct cf_dentry *d;
	struct cf_inode *inode;
	const char *text;
	int result = cf_dentry_find(s->at, name, false, &d);
	if (result)
		return result;
	inode = cf_dentry_inode(d);
	if (inode && S_ISLNK(CF_INODE_LOAD(inode, mode)) && follows(s, trailing)) {
		result = text_of(inode, &text);
		if (!result)
			cf_inode_get(inode); // the dentry's reference keeps it until here
		cf_dentry_put(d);
		return result ? result : follow(s, inode, text);
	}
	if (!inode && !(is_last(s) && (s->w->flags & CF_WALK_CREATE))) {
		cf_dentry_put(d);
		return -ENOENT;
	}
	stand_by_reference(s, d);
	return 0;
}

// What a read section cannot decide.
static bool must_wait(const struct cf_dentry *d)
{
	uint32_t flags = cf_dentry_flags(d);
	return (flags & CF_DENTRY_LOOKUP) || ((flags & CF_DENTRY_OP_REVALIDATE) && cf_dentry_revalidate(d, false) <= 0);
}

// 1: by reference from here.
static int step_by_sequence(struct state *s, const struct cf_name *name, bool trailing)
{
	struct cf_dentry_key key;
	struct cf_dentry *d;
	struct cf_inode *inode;
	uint32_t file_seq;
	CF_TEST_POINT("walk: searching");
	cf_dentry_key_of(&key, s->at, name);
	d = cf_dentry_flags(s->at) & CF_DENTRY_OP_HASH ? NULL : cf_dentry_search(&key);
	if (!d || must_wait(d))
		return 1;
	CF_TEST_POINT("walk: named");
	file_seq = cf_dentry_file_seq_begin(d);
	inode = cf_dentry_inode(d);
	CF_TEST_POINT("walk: found");
	// This inode was the name's; and the directory is still the one that we were allowed to search, not another of its
	// name.
	if (cf_dentry_seq_changed(d, key.seq) || cf_dentry_seq_changed(s->at, s->seq))
		return -ECHILD;
	if (inode && S_ISLNK(CF_INODE_LOAD(inode, mode)) && follows(s, trailing)) {
		const char *text = CF_INODE_LOAD(inode, link);
		return text ? follow(s, inode, text) : 1;
	}
	if (!inode && !(is_last(s) && (s->w->flags & CF_WALK_CREATE)))
		return -ENOENT;
	s->at = d;
	s->seq = key.seq;
	s->file_seq = file_seq;
	s->inode = inode;
	return 0;
}

static int step(struct state *s, const struct cf_name *name)
{
	bool trailing = s->w->trailing;
	int result;
	if (s->by_sequence) {
		result = step_by_sequence(s, name, trailing);
		if (result <= 0)
			return result;
		result = take_reference(s);
		if (result)
			return result;
	}
	return step_by_reference(s, name, trailing);
}

// --- A whole path.

// The end of a link's text: goes on with what it interrupted. False: there is nothing more.
static bool resume(struct state *s)
{
	if (!s->depth)
		return false;
	put_owner(s, s->owner);
	s->depth--;
	s->path = s->frames[s->depth].rest;
	s->owner = s->frames[s->depth].owner;
	return true;
}

static int walk_parts(struct state *s)
{
	struct cf_walk *w = s->w;
	int result = 0;
	while (!result && (*s->path || resume(s))) {
		struct cf_name name;
		result = may_search(s);
		result = result ? result : next_name(s, &name);
		if (result)
			break;
		w->last_type = type_of(&name);
		w->last = (struct cf_name){ NULL, 0, 0 };
		if (w->last_type == CF_LAST_NORMAL)
			w->last = name;
		if (is_last(s) && (w->flags & CF_WALK_PARENT))
			break;
		if (w->last_type == CF_LAST_NORMAL)
			result = step(s, &name);
		else if (w->last_type == CF_LAST_DOTDOT)
			result = go_up(s);
	}
	return result;
}

static int check_end(const struct state *s)
{
	struct cf_walk *w = s->w;
	bool directory;
	w->trailing |= s->directory;
	directory = (w->trailing || (w->flags & CF_WALK_DIRECTORY)) && !(w->flags & (CF_WALK_PARENT | CF_WALK_CREATE));
	return directory && s->inode && !S_ISDIR(CF_INODE_LOAD(s->inode, mode)) ? -ENOTDIR : 0;
}

static void begin(struct state *s, struct cf_walk *w, const char *path, bool by_sequence)
{
	s->w = w;
	s->path = skip_slashes(path);
	s->owner = NULL;
	s->at = NULL;
	s->by_sequence = by_sequence;
	s->directory = false;
	s->links = s->depth = 0;
	w->trailing = false;
	w->last_type = CF_LAST_ROOT;
	w->last = (struct cf_name){ NULL, 0, 0 };
	if (by_sequence)
		cf_rcu_read_lock();
	stand(s, *path == '/' ? w->root : w->start);
}

// Gives back what the walk still has, but `at`.
static void end(struct state *s)
{
	for (; s->depth; s->depth--)
		put_owner(s, s->frames[s->depth - 1].owner);
	put_owner(s, s->owner);
	if (s->by_sequence)
		cf_rcu_read_unlock();
}

static int finish(struct state *s, int result)
{
	struct cf_dentry *at;
	result = result ? result : check_end(s);
	if (s->by_sequence && !result) {
		s->owner = NULL; // texts have been read: they need no references
		s->depth = 0;
		CF_TEST_POINT("walk: at the end");
		result = take_reference(s);
	} else if (changed(s)) {
		result = -ECHILD;
	}
	at = s->by_sequence ? NULL : s->at;
	end(s);
	if (result)
		cf_dentry_put(at);
	else
		s->w->dentry = at;
	return result;
}

static int check_path(const char *path)
{
	return !*path ? -ENOENT : strnlen(path, CF_PATH_MOST) == CF_PATH_MOST ? -ENAMETOOLONG : 0;
}

static bool may_begin_by_sequence(const struct cf_walk *w)
{
	return CF_VFS_RCU_WALK && !(w->flags & CF_WALK_REFERENCE);
}

int cf_walk(struct cf_walk *w, const char *path)
{
	struct state s;
	int result = check_path(path);
	if (result)
		return result;
	result = -ECHILD;
	if (may_begin_by_sequence(w)) {
		begin(&s, w, path, true);
		result = finish(&s, walk_parts(&s));
	}
	if (result == -ECHILD) {
		begin(&s, w, path, false);
		result = finish(&s, walk_parts(&s));
	}
	return result;
}

typedef int attributes_callback(const struct cf_dentry *dentry, const struct cf_inode *inode, void *argument);

static int finish_by_sequence(struct state *s, int result, attributes_callback *fn, void *argument)
{
	result = result ? result : check_end(s);
	if (!result && s->by_sequence) {
		result = fn(s->at, s->inode, argument);
		CF_TEST_POINT("walk: copied");
	}
	if (changed(s))
		result = -ECHILD;
	return result;
}

static int call_and_put(struct cf_walk *w, attributes_callback *fn, void *argument)
{
	int result;
	cf_rcu_read_lock();
	result = fn(w->dentry, cf_dentry_inode(w->dentry), argument);
	cf_rcu_read_unlock();
	cf_dentry_put(w->dentry);
	w->dentry = NULL;
	return result;
}

// -ECHILD: it has to be asked again with references.
static int try_by_sequence(struct cf_walk *w, const char *path, attributes_callback *fn, void *argument)
{
	struct state s;
	int result;
	begin(&s, w, path, true);
	result = finish_by_sequence(&s, walk_parts(&s), fn, argument);
	if (s.by_sequence) {
		end(&s);
		return result;
	}
	result = finish(&s, result);
	return result ? result : call_and_put(w, fn, argument);
}

int cf_walk_rcu(struct cf_walk *w, const char *path, attributes_callback *fn, void *argument)
{
	int result = check_path(path);
	if (result)
		return result;
	result = may_begin_by_sequence(w) ? try_by_sequence(w, path, fn, argument) : -ECHILD;
	if (result != -ECHILD)
		return result;
	if (w->flags & CF_WALK_RCU)
		return -EAGAIN;
	result = cf_walk(w, path);
	return result ? result : call_and_put(w, fn, argument);
}
