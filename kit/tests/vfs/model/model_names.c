// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's calls that make, remove and move names. The order of the checks is Linux's.
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// mode 0 of a removed directory's link count: no name can be made in it any more.
static int may_create(const struct model_task *t, const struct node *dir)
{
	return dir->nlink == 0 ? -ENOENT : model_permission(t, dir, 3);
}

static int may_delete(const struct model_task *t, const struct node *dir, const struct node *victim, bool want_directory)
{
	int error = model_permission(t, dir, 3);
	if (error)
		return error;
	if ((dir->mode & S_ISVTX) && t->cred.uid && t->cred.uid != victim->uid && t->cred.uid != dir->uid)
		return -EPERM;
	if (want_directory)
		return S_ISDIR(victim->mode) ? 0 : -ENOTDIR;
	return S_ISDIR(victim->mode) ? -EISDIR : 0;
}

static void remove_entry(struct model *m, struct node *dir, struct entry *entry)
{
	model_take(m, -cf_charge_name(strlen(entry->name)), 0);
	free(entry->name);
	*entry = dir->entries[--dir->entry_count];
}

// The inode loses a name; a directory loses both its links.
static void drop_link(struct model *m, struct node *dir, struct node *node)
{
	node->ctime = m->now;
	node->nlink--;
	if (S_ISDIR(node->mode)) {
		node->nlink = 0;
		dir->nlink--;
		dir->holds++; // by "..", while the removed one is in use
	}
	model_release(m, node);
}

static int take_away(struct model *m, struct node *dir, struct entry *entry)
{
	struct node *victim = entry->node;
	remove_entry(m, dir, entry);
	model_touch_write(m, dir);
	drop_link(m, dir, victim);
	return 0;
}

// Where a new name goes: 0 when there is none yet.
static int new_name(struct model *m, struct model_task *t, int dir, const char *path, bool directory, struct place *p)
{
	int error = model_walk(m, t, dir, path, WALK_PARENT, p);
	if (error)
		return error;
	if (p->type != LAST_NAME)
		return -EEXIST;
	if (p->dir->nlink == 0)
		return -ENOENT;
	if (model_find(p->dir, p->last, &error))
		return -EEXIST;
	if (error)
		return error;
	if (p->slash && !directory)
		return -ENOENT;
	return may_create(t, p->dir);
}

static int make(struct model *m, struct model_task *t, const struct call *c, uint32_t mode, const char *target)
{
	struct place p;
	int error = new_name(m, t, c->fd, c->path, S_ISDIR(mode), &p);
	if (!error)
		error = model_make(m, t, p.dir, p.last, mode, target, NULL);
	free(p.last);
	return error;
}

static int make_node(struct model *m, struct model_task *t, const struct call *c)
{
	uint32_t mode = c->mode & (S_IFMT | 07777);
	if (!(mode & S_IFMT))
		mode |= S_IFREG;
	if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode))
		return -EPERM;
	return make(m, t, c, mode, NULL);
}

static int make_symlink(struct model *m, struct model_task *t, const struct call *c)
{
	int error = model_name_check(c->path2);
	return error ? error : make(m, t, c, S_IFLNK | 0777, c->path2);
}

static bool may_link_source(const struct model *m, const struct model_task *t, const struct node *n)
{
	if (!m->limits.guard_links || t->cred.uid == 0 || t->cred.uid == n->uid)
		return true;
	return S_ISREG(n->mode) && !(n->mode & S_ISUID) &&
	       (n->mode & (S_ISGID | S_IXGRP)) != (S_ISGID | S_IXGRP) && model_permission(t, n, 6) == 0;
}

static int link_to(struct model *m, struct model_task *t, const struct call *c)
{
	struct place from = { 0 }, to = { 0 };
	int error;
	if (c->flags & ~AT_SYMLINK_FOLLOW)
		return -EINVAL;
	error = model_walk(m, t, c->fd, c->path, c->flags ? WALK_FOLLOW : 0, &from);
	if (!error)
		error = model_walk(m, t, c->fd2, c->path2, WALK_PARENT, &to);
	if (!error) {
		free(to.last);
		error = new_name(m, t, c->fd2, c->path2, false, &to);
		// A new name's place is judged first, permission to make it after the source.
		if ((!error || error == -EACCES) && !may_link_source(m, t, from.node))
			error = -EPERM;
	}
	if (!error && S_ISDIR(from.node->mode))
		error = -EPERM;
	if (!error && from.node->nlink == 0)
		error = -ENOENT;
	if (!error)
		error = model_take(m, cf_charge_name(strlen(to.last)), 0);
	if (!error) {
		struct node *dir = to.dir;
		dir->entries = realloc(dir->entries, (size_t)(dir->entry_count + 1) * sizeof *dir->entries);
		dir->entries[dir->entry_count++] = (struct entry){ strdup(to.last), from.node };
		from.node->nlink++;
		from.node->ctime = m->now;
		model_touch_write(m, dir);
	}
	free(from.last);
	free(to.last);
	return error;
}

static int unlink_file(struct model *m, struct model_task *t, struct place *p)
{
	int error;
	struct entry *entry;
	if (p->type != LAST_NAME)
		return -EISDIR;
	entry = model_find(p->dir, p->last, &error);
	if (!entry)
		return error ? error : -ENOENT;
	struct node *victim = entry->node;
	if (p->slash)
		return S_ISDIR(victim->mode) ? -EISDIR : -ENOTDIR;
	error = may_delete(t, p->dir, victim, false);
	if (error)
		return error;
	return take_away(m, p->dir, entry);
}

static int remove_directory(struct model *m, struct model_task *t, struct place *p)
{
	int error;
	struct entry *entry;
	if (p->type != LAST_NAME)
		return p->type == LAST_DOT ? -EINVAL : p->type == LAST_DOTDOT ? -ENOTEMPTY : -EBUSY;
	entry = model_find(p->dir, p->last, &error);
	if (!entry)
		return error ? error : -ENOENT;
	struct node *victim = entry->node;
	error = may_delete(t, p->dir, victim, true);
	if (!error && victim->entry_count)
		error = -ENOTEMPTY;
	if (error)
		return error;
	return take_away(m, p->dir, entry);
}

static int unlink_or_rmdir(struct model *m, struct model_task *t, const struct call *c)
{
	struct place p = { 0 };
	int error = c->flags & ~AT_REMOVEDIR ? -EINVAL : model_walk(m, t, c->fd, c->path, WALK_PARENT, &p);
	if (!error)
		error = c->flags & AT_REMOVEDIR ? remove_directory(m, t, &p) : unlink_file(m, t, &p);
	free(p.last);
	return error;
}

static bool is_above(const struct model *m, const struct node *above, const struct node *below)
{
	for (; below != above; below = below->parent)
		if (below == m->root)
			return false;
	return true;
}

static int may_rename(struct model *m, struct model_task *t, struct place *from, struct place *to, struct node *source,
		      struct node *target)
{
	bool directory = S_ISDIR(source->mode);
	int error;
	if (directory && is_above(m, source, to->dir))
		return -EINVAL;
	if (!directory && (from->slash || to->slash))
		return -ENOTDIR;
	if (target && S_ISDIR(target->mode) && is_above(m, target, from->dir))
		return -ENOTEMPTY;
	if (source == target)
		return 0;
	error = may_delete(t, from->dir, source, directory);
	if (!error)
		error = target ? may_delete(t, to->dir, target, directory) : may_create(t, to->dir);
	if (!error && directory && from->dir != to->dir)
		error = model_permission(t, source, 2);
	if (!error && target && target->entry_count)
		error = -ENOTEMPTY;
	return error;
}

static void move(struct model *m, struct place *from, struct place *to, struct node *source, struct node *target)
{
	int unused;
	if (target) {
		model_find(to->dir, to->last, &unused)->node = source;
		drop_link(m, to->dir, target);
	} else {
		struct node *dir = to->dir;
		dir->entries = realloc(dir->entries, (size_t)(dir->entry_count + 1) * sizeof *dir->entries);
		dir->entries[dir->entry_count++] = (struct entry){ strdup(to->last), source };
		model_take(m, cf_charge_name(strlen(to->last)), 0);
	}
	remove_entry(m, from->dir, model_find(from->dir, from->last, &unused));
	source->ctime = m->now;
	model_touch_write(m, from->dir);
	model_touch_write(m, to->dir);
	if (S_ISDIR(source->mode)) {
		from->dir->nlink--;
		to->dir->nlink++;
		source->parent = to->dir;
	}
}

static int rename_places(struct model *m, struct model_task *t, struct place *from, struct place *to, unsigned flags)
{
	int error;
	struct entry *old, *new;
	if (from->type != LAST_NAME)
		return -EBUSY;
	if (to->type != LAST_NAME)
		return flags & 1 ? -EEXIST : -EBUSY;
	old = model_find(from->dir, from->last, &error);
	if (!old)
		return error ? error : -ENOENT;
	if (to->dir->nlink == 0)
		return -ENOENT;
	new = model_find(to->dir, to->last, &error);
	if (error)
		return error;
	if (new && (flags & 1))
		return -EEXIST;
	struct node *source = old->node, *target = new ? new->node : NULL;
	error = may_rename(m, t, from, to, source, target);
	if (error || source == target)
		return error;
	if (!target) {
		int64_t more = cf_charge_name(strlen(to->last)) - cf_charge_name(strlen(from->last));
		if (more > m->bytes_free)
			return -ENOSPC;
		model_take(m, -INT64_MAX / 8, 0); // the old name's room counts; the sum is checked above
	}
	move(m, from, to, source, target);
	if (!target)
		model_take(m, INT64_MAX / 8, 0);
	return 0;
}

static int rename_call(struct model *m, struct model_task *t, const struct call *c)
{
	struct place from = { 0 }, to = { 0 };
	int error = c->flags & ~1 ? -EINVAL : model_walk(m, t, c->fd, c->path, WALK_PARENT, &from);
	if (!error)
		error = model_walk(m, t, c->fd2, c->path2, WALK_PARENT, &to);
	if (!error)
		error = rename_places(m, t, &from, &to, (unsigned)c->flags);
	free(from.last);
	free(to.last);
	return error;
}

static int64_t read_link(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	struct place p = { 0 };
	int64_t value = c->size ? model_walk(m, t, c->fd, c->path, 0, &p) : -EINVAL;
	if (!value && !S_ISLNK(p.node->mode))
		value = -EINVAL;
	if (!value) {
		value = p.node->size < c->size ? p.node->size : c->size;
		r->bytes = hash_bytes(HASH_START, p.node->target, (size_t)value);
		model_touch_read(m, p.node);
	}
	free(p.last);
	return value;
}

void model_names_call(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	switch (c->op) {
	case OP_LINK: r->value = link_to(m, t, c); break;
	case OP_UNLINK: r->value = unlink_or_rmdir(m, t, c); break;
	case OP_RENAME: r->value = rename_call(m, t, c); break;
	case OP_MKDIR: r->value = make(m, t, c, S_IFDIR | (c->mode & 01777), NULL); break;
	case OP_MKNOD: r->value = make_node(m, t, c); break;
	case OP_SYMLINK: r->value = make_symlink(m, t, c); break;
	default: r->value = read_link(m, t, c, r); break;
	}
}
