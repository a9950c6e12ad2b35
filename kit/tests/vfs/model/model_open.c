// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's open.
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int may_open(struct model_task *t, const struct node *node, int flags)
{
	uint32_t mask = (uint32_t[]){ 4, 2, 6, 6 }[flags & O_ACCMODE] | (flags & O_TRUNC ? 2 : 0);
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -EEXIST;
	if ((flags & O_CREAT) && S_ISDIR(node->mode))
		return -EISDIR;
	if ((flags & O_DIRECTORY) && !S_ISDIR(node->mode))
		return -ENOTDIR;
	if (S_ISLNK(node->mode))
		return -ELOOP;
	if (S_ISDIR(node->mode) && (mask & 2))
		return -EISDIR;
	if (model_permission(t, node, mask))
		return -EACCES;
	if ((flags & O_NOATIME) && t->cred.uid && t->cred.uid != node->uid)
		return -EPERM;
	if (S_ISSOCK(node->mode))
		return -ENXIO;
	if (S_ISFIFO(node->mode) && (flags & O_ACCMODE) == O_WRONLY && !node->readers)
		return -ENXIO;
	return 0;
}

static int open_node(struct model *m, struct node *node)
{
	return S_ISFIFO(node->mode) && model_make_stream(m, node) ? -ENOMEM : 0;
}

// The last component where O_CREAT may make it: through links, to a name that is or is not there.
static int find_or_make(struct model *m, struct model_task *t, const struct call *c, struct place *p, struct node **node,
			bool *made)
{
	int error = model_walk(m, t, c->fd, c->path, WALK_PARENT, p);
	for (; !error;) {
		struct entry *entry;
		*node = p->type == LAST_DOTDOT ? (p->dir == m->root ? p->dir : p->dir->parent) : p->dir;
		if (p->type != LAST_NAME)
			return may_open(t, *node, c->flags);
		if (p->slash)
			return strlen(p->last) > CF_NAME_MAX ? -ENAMETOOLONG : -EISDIR; // Linux does not look at the length
		entry = model_find(p->dir, p->last, &error);
		if (error)
			break;
		if (!entry) {
			error = p->dir->nlink == 0 ? -ENOENT : model_permission(t, p->dir, 3);
			if (!error)
				error = model_make(m, t, p->dir, p->last, S_IFREG | (c->mode & 07777), NULL, node);
			*made = true;
			break;
		}
		*node = entry->node;
		if (!S_ISLNK(entry->node->mode) || (c->flags & (O_NOFOLLOW | O_EXCL)))
			return may_open(t, *node, c->flags);
		error = p->links++ >= CF_LINKS_MAX ? -ELOOP :
						     model_walk_from(m, t, p->dir, entry->node->target, WALK_PARENT, p);
	}
	return error;
}

int64_t model_open(struct model *m, struct model_task *t, const struct call *c)
{
	struct place p = { 0 };
	struct node *node = NULL;
	bool made = false;
	int error, fd, how = c->flags & O_NOFOLLOW ? 0 : WALK_FOLLOW;
	if ((c->flags & O_ACCMODE) == 3 || (c->flags & O_DIRECT) || (c->flags & (O_PATH | (O_TMPFILE & ~O_DIRECTORY))) ||
	    (c->flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		return -EINVAL;
	error = model_name_check(c->path);
	fd = error ? error : model_free_fd(m, t);
	if (fd < 0)
		return fd;
	if (c->flags & O_CREAT) {
		error = find_or_make(m, t, c, &p, &node, &made);
	} else {
		error = model_walk(m, t, c->fd, c->path, how, &p);
		if (!error)
			error = may_open(t, p.node, c->flags & ~O_EXCL);
		node = p.node;
	}
	free(p.last);
	error = error ? error : open_node(m, node);
	if (error)
		return error;
	t->fds[fd] = model_file_new(node, c->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW | O_DIRECTORY));
	if ((c->flags & O_TRUNC) && S_ISREG(node->mode) && !made) {
		model_drop_privileges(t, node);
		model_set_size(m, node, 0);
		model_touch_write(m, node);
	}
	return fd;
}
