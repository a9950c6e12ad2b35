// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's paths: what a name leads to, and who may go there.
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool model_in_group(const struct cred *cred, uint32_t gid)
{
	for (uint32_t i = 0; i < cred->group_count; i++)
		if (cred->groups[i] == gid)
			return true;
	return cred->gid == gid;
}

// mask: 4 read, 2 write, 1 execute or search.
int model_permission(const struct model_task *t, const struct node *node, uint32_t mask)
{
	uint32_t bits = node->mode;
	if (t->cred.uid == 0)
		return S_ISDIR(node->mode) || !(mask & 1) || (node->mode & 0111) ? 0 : -EACCES;
	if (t->cred.uid == node->uid)
		bits >>= 6;
	else if (model_in_group(&t->cred, node->gid))
		bits >>= 3;
	return (mask & ~bits & 7) ? -EACCES : 0;
}

int model_name_check(const char *path)
{
	if (strlen(path) >= CF_PATH_MAX)
		return -ENAMETOOLONG;
	return *path ? 0 : -ENOENT;
}

struct entry *model_find(struct node *dir, const char *name, int *error)
{
	*error = strlen(name) > CF_NAME_MAX ? -ENAMETOOLONG : 0;
	for (int64_t i = 0; !*error && i < dir->entry_count; i++)
		if (!strcmp(dir->entries[i].name, name))
			return &dir->entries[i];
	return NULL;
}

static enum last last_type(const char *name)
{
	return !strcmp(name, ".") ? LAST_DOT : !strcmp(name, "..") ? LAST_DOTDOT : LAST_NAME;
}

// One component from `dir`.
static int step(struct model *m, struct node *dir, const char *name, struct node **to)
{
	int error;
	struct entry *entry;
	*to = dir;
	if (last_type(name) == LAST_DOT)
		return 0;
	if (last_type(name) == LAST_DOTDOT) {
		*to = dir == m->root ? dir : dir->parent;
		return 0;
	}
	entry = model_find(dir, name, &error);
	if (!entry)
		return error ? error : -ENOENT;
	*to = entry->node;
	return 0;
}

static char *joined(const char *a, const char *b)
{
	char *path = malloc(strlen(a) + strlen(b) + 2);
	sprintf(path, "%s%s%s", a, *b ? "/" : "", b);
	return path;
}

// The first component into place->last; returns what follows, without its slashes.
static const char *cut(const char *rest, struct place *p)
{
	size_t length = strcspn(rest, "/");
	free(p->last);
	p->last = strndup(rest, length);
	p->type = last_type(p->last);
	rest += length;
	p->slash = *rest == '/';
	return rest + strspn(rest, "/");
}

static int walk(struct model *m, struct model_task *t, const char *path, int how, struct place *p)
{
	char *own = strdup(path);
	const char *rest = own;
	int error = 0;
	for (;;) {
		bool final;
		struct node *to;
		if (*rest == '/')
			p->dir = m->root;
		rest += strspn(rest, "/");
		if (!*rest) { // slashes alone, or a link to "/"
			p->type = LAST_ROOT;
			p->node = p->dir;
			break;
		}
		if (!S_ISDIR(p->dir->mode))
			error = -ENOTDIR;
		else
			error = model_permission(t, p->dir, 1);
		if (error)
			break;
		rest = cut(rest, p);
		final = !*rest;
		if (final && (how & WALK_PARENT))
			break;
		if (final && p->slash && p->type == LAST_NAME)
			how |= WALK_FOLLOW | WALK_DIRECTORY;
		error = step(m, p->dir, p->last, &to);
		if (error)
			break;
		if (S_ISLNK(to->mode) && (!final || (how & WALK_FOLLOW))) {
			char *longer;
			if (p->links++ >= CF_LINKS_MAX) {
				error = -ELOOP;
				break;
			}
			longer = joined(to->target, rest);
			free(own);
			rest = own = longer;
			continue;
		}
		if (final) {
			p->node = to;
			break;
		}
		if (!S_ISDIR(to->mode)) {
			error = -ENOTDIR;
			break;
		}
		p->dir = to;
	}
	if (!error && (how & WALK_DIRECTORY) && p->node && !S_ISDIR(p->node->mode))
		error = -ENOTDIR;
	free(own);
	return error;
}

int model_walk_from(struct model *m, struct model_task *t, struct node *from, const char *path, int how, struct place *p)
{
	p->dir = from;
	p->node = NULL;
	return walk(m, t, path, how, p);
}

// The caller frees place->last, whatever is returned.
int model_walk(struct model *m, struct model_task *t, int dir, const char *path, int how, struct place *p)
{
	struct node *from = t->cwd;
	int error = model_name_check(path);
	*p = (struct place){ 0 };
	if (error)
		return error;
	if (*path != '/' && dir != -100) {
		struct file *file = model_file(t, dir);
		if (!file)
			return -EBADF;
		if (!S_ISDIR(file->node->mode))
			return -ENOTDIR;
		from = file->node;
	}
	return model_walk_from(m, t, from, path, how, p);
}
