// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's calls on attributes.
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void stat_of(const struct node *n, struct cf_stat *s)
{
	*s = (struct cf_stat){ .ino = n->ino, .mode = n->mode, .nlink = n->nlink, .uid = n->uid, .gid = n->gid,
			       .size = S_ISDIR(n->mode) ? n->entry_count : n->size, .blocks = n->page_count * (CF_PAGE / 512),
			       .atime = n->atime, .mtime = n->mtime, .ctime = n->ctime };
}

static void space_of(const struct model *m, struct cf_statvfs *s)
{
	*s = (struct cf_statvfs){ .bsize = CF_PAGE, .namemax = CF_NAME_MAX };
	s->blocks = m->limits.bytes / CF_PAGE;
	s->files = m->limits.inodes;
	s->bfree = s->bavail = m->limits.bytes ? m->bytes_free / CF_PAGE : 0;
	s->ffree = m->limits.inodes ? m->inodes_free : 0;
}

static bool owns(const struct model_task *t, const struct node *n)
{
	return t->cred.uid == 0 || t->cred.uid == n->uid;
}

static int change_mode(struct model *m, struct model_task *t, struct node *n, uint32_t mode)
{
	if (!owns(t, n))
		return -EPERM;
	if (t->cred.uid && !model_in_group(&t->cred, n->gid))
		mode &= ~(uint32_t)S_ISGID;
	n->mode = (n->mode & S_IFMT) | (mode & 07777);
	n->ctime = m->now;
	return 0;
}

static int change_owner(struct model *m, struct model_task *t, struct node *n, uint32_t uid, uint32_t gid)
{
	bool user = uid != UINT32_MAX, group = gid != UINT32_MAX;
	bool kills = !S_ISDIR(n->mode) && (n->mode & (S_ISUID | S_ISGID));
	if (user && t->cred.uid && (t->cred.uid != n->uid || uid != n->uid))
		return -EPERM;
	if (group && t->cred.uid && (t->cred.uid != n->uid || !(model_in_group(&t->cred, gid) || gid == n->gid)))
		return -EPERM;
	if (kills && !owns(t, n))
		return -EPERM;
	if (!S_ISDIR(n->mode)) {
		if ((n->mode & S_IXGRP) || (t->cred.uid && !model_in_group(&t->cred, n->gid)))
			n->mode &= ~(uint32_t)S_ISGID;
		n->mode &= ~(uint32_t)S_ISUID;
	}
	if (user)
		n->uid = uid;
	if (group)
		n->gid = gid;
	n->ctime = m->now;
	return 0;
}

static bool valid(const struct cf_time *time)
{
	return time->nsec == UTIME_NOW || time->nsec == UTIME_OMIT || (time->nsec >= 0 && time->nsec < 1000000000);
}

// What 64 bits of nanoseconds can hold: from 1677 to 2262.
static struct cf_time kept(const struct cf_time *t)
{
	static const struct cf_time first = { -9223372037, 145224192 }, last = { 9223372036, 854775807 };
	if (t->sec <= first.sec)
		return first;
	return t->sec > last.sec || (t->sec == last.sec && t->nsec > last.nsec) ? last : *t;
}

static int change_times(struct model *m, struct model_task *t, struct node *n, const struct cf_time times[2])
{
	bool now = times[0].nsec == UTIME_NOW && times[1].nsec == UTIME_NOW;
	if (!valid(&times[0]) || !valid(&times[1]))
		return -EINVAL;
	if (!owns(t, n)) {
		if (!now)
			return -EPERM;
		if (model_permission(t, n, 2))
			return -EACCES;
	}
	if (times[0].nsec != UTIME_OMIT)
		n->atime = times[0].nsec == UTIME_NOW ? m->now : kept(&times[0]);
	if (times[1].nsec != UTIME_OMIT)
		n->mtime = times[1].nsec == UTIME_NOW ? m->now : kept(&times[1]);
	n->ctime = m->now;
	return 0;
}

static int change_directory(struct model *m, struct model_task *t, struct node *n)
{
	if (!S_ISDIR(n->mode))
		return -ENOTDIR;
	if (model_permission(t, n, 1))
		return -EACCES;
	n->holds++;
	t->cwd->holds--;
	model_release(m, t->cwd);
	t->cwd = n;
	return 0;
}

static int64_t change(struct model *m, struct model_task *t, const struct call *c, struct node *n, struct result *r)
{
	switch (c->op) {
	case OP_FSTATAT:
	case OP_FSTAT: stat_of(n, &r->stat); return 0;
	case OP_STATVFS: space_of(m, &r->space); return 0;
	case OP_CHMOD:
	case OP_FCHMOD: return change_mode(m, t, n, c->mode);
	case OP_CHOWN:
	case OP_FCHOWN: return change_owner(m, t, n, c->uid, c->gid);
	case OP_UTIMENS: return change_times(m, t, n, c->times);
	case OP_ACCESS: return c->mode ? model_permission(t, n, c->mode) : 0;
	default: return change_directory(m, t, n);
	}
}

void model_attributes_call(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	struct place p = { 0 };
	struct file *f;
	const int at_flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | (c->op == OP_FSTATAT ? AT_NO_AUTOMOUNT : 0) |
			     (c->op == OP_ACCESS ? AT_EACCESS : 0);
	bool flagged = c->op == OP_FSTATAT || c->op == OP_CHOWN || c->op == OP_UTIMENS || c->op == OP_ACCESS;
	if (c->op == OP_UMASK) {
		r->value = t->umask;
		t->umask = c->mode & 0777;
		return;
	}
	if (c->op == OP_UTIMENS && c->times[0].nsec == UTIME_OMIT && c->times[1].nsec == UTIME_OMIT)
		return;
	if ((flagged && (c->flags & ~at_flags)) || (c->op == OP_ACCESS && (c->mode & ~7u))) {
		r->value = -EINVAL;
		return;
	}
	if (!c->path && c->op == OP_UTIMENS && c->flags) {
		r->value = -EINVAL;
		return;
	}
	if (!c->path || (flagged && !*c->path && (c->flags & AT_EMPTY_PATH))) {
		f = model_file(t, c->fd);
		if (c->fd == -100 && c->path)
			r->value = change(m, t, c, t->cwd, r);
		else
			r->value = f ? change(m, t, c, f->node, r) : -EBADF;
		return;
	}
	r->value = model_walk(m, t, c->fd, c->path, flagged && (c->flags & AT_SYMLINK_NOFOLLOW) ? 0 : WALK_FOLLOW, &p);
	if (!r->value)
		r->value = change(m, t, c, p.node, r);
	free(p.last);
}
