// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's state: inodes, what they cost, and descriptors.
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Takes what is there, or nothing. Negative amounts are given back.
int model_take(struct model *m, int64_t bytes, int64_t inodes)
{
	if ((bytes > 0 && bytes > m->bytes_free) || (inodes > 0 && inodes > m->inodes_free))
		return -ENOSPC;
	m->bytes_free -= bytes;
	m->inodes_free -= inodes;
	return 0;
}

// Pages, and the nodes of the tree above them: 64 pointers each, as many levels as the highest page needs.
int64_t model_pages_charge(const struct node *n)
{
	int64_t charge = n->page_count * CF_PAGE;
	if (n->page_count == 0)
		return 0;
	for (int level = 1; level < 10; level++) {
		int64_t last = -1;
		if (n->pages[n->page_count - 1].index >> 6 * (level - 1) == 0)
			break;
		for (int64_t i = 0; i < n->page_count; i++)
			if (n->pages[i].index >> 6 * level != last) {
				last = n->pages[i].index >> 6 * level;
				charge += CF_CHARGE_NODE;
			}
	}
	return charge;
}

static int64_t inode_charge(const struct node *n)
{
	return CF_CHARGE_INODE + (S_ISDIR(n->mode) ? CF_CHARGE_DIRECTORY : 0) +
	       (n->target ? cf_charge_name(strlen(n->target)) : 0);
}

int model_make_stream(struct model *m, struct node *n)
{
	if (!n->stream && model_take(m, CF_CHARGE_STREAM, 0))
		return -ENOSPC;
	n->stream = true;
	return 0;
}

// Frees what a file holds, once it has no name and nobody has it open.
void model_release(struct model *m, struct node *n)
{
	if (n->holds || (n->nlink && n->linked) || n->freed)
		return;
	n->freed = true;
	model_set_size(m, n, 0);
	if (n->stream)
		model_take(m, -(int64_t)CF_CHARGE_STREAM, 0);
	if (n->linked)
		model_take(m, -inode_charge(n), -1);
	if (S_ISDIR(n->mode)) {
		n->parent->holds--;
		model_release(m, n->parent);
	}
}

static uint32_t mode_within(const struct model_task *t, const struct node *dir, uint32_t mode)
{
	if ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && !S_ISDIR(mode) && dir && (dir->mode & S_ISGID) &&
	    t->cred.uid && !model_in_group(&t->cred, dir->gid))
		mode &= ~(uint32_t)S_ISGID;
	return S_ISLNK(mode) ? mode : mode & ~t->umask;
}

struct node *model_node(struct model *m, struct model_task *t, struct node *dir, uint32_t mode)
{
	struct node *n = calloc(1, sizeof *n);
	n->ino = m->next_ino++;
	n->mode = mode_within(t, dir, mode);
	n->nlink = S_ISDIR(mode) ? 2 : 1;
	n->uid = t->cred.uid;
	n->gid = t->cred.gid;
	if (dir && (dir->mode & S_ISGID)) {
		n->gid = dir->gid;
		if (S_ISDIR(mode))
			n->mode |= S_ISGID;
	}
	n->atime = n->mtime = n->ctime = m->now;
	n->parent = dir ? dir : n;
	n->next_made = m->made;
	m->made = n;
	return n;
}

// A new inode under a new name; 0 or -ENOSPC.
int model_make(struct model *m, struct model_task *t, struct node *dir, const char *name, uint32_t mode, const char *target,
	       struct node **made)
{
	struct node like = { .mode = mode, .target = (char *)target };
	if (model_take(m, inode_charge(&like) + cf_charge_name(strlen(name)), 1))
		return -ENOSPC;
	struct node *n = model_node(m, t, dir, mode);
	n->linked = true;
	n->target = target ? strdup(target) : NULL;
	n->size = target ? (int64_t)strlen(target) : 0;
	dir->entries = realloc(dir->entries, (size_t)(dir->entry_count + 1) * sizeof *dir->entries);
	dir->entries[dir->entry_count++] = (struct entry){ strdup(name), n };
	dir->nlink += S_ISDIR(mode) ? 1 : 0;
	model_touch_write(m, dir);
	if (made)
		*made = n;
	return 0;
}

struct file *model_file(struct model_task *t, int fd)
{
	return fd >= 0 && fd < MODEL_FDS ? t->fds[fd] : NULL;
}

int model_free_fd(struct model *m, struct model_task *t)
{
	if (m->any_fd >= 0 && m->any_fd < m->limits.fds && !t->fds[m->any_fd] && !t->reserved[m->any_fd])
		return m->any_fd;
	for (int fd = 0; fd < m->limits.fds; fd++)
		if (!t->fds[fd] && !t->reserved[fd])
			return fd;
	return -EMFILE;
}

struct file *model_file_new(struct node *node, int flags)
{
	struct file *file = calloc(1, sizeof *file);
	file->node = node;
	file->flags = flags;
	file->reads = (flags & O_ACCMODE) != O_WRONLY;
	file->writes = (flags & O_ACCMODE) != O_RDONLY;
	file->references = 1;
	node->holds++;
	node->readers += file->reads;
	node->writers += file->writes;
	return file;
}

void model_close_file(struct model *m, struct file *file)
{
	struct node *node = file->node;
	if (--file->references)
		return;
	node->readers -= file->reads;
	node->writers -= file->writes;
	if (--node->holds == 0)
		node->ring_used = 0;
	model_release(m, node);
	free(file);
}

struct model *model_new(const struct model_options *options)
{
	struct model *m = calloc(1, sizeof *m);
	struct model_task root = { 0 };
	m->limits = *options;
	m->bytes_free = options->bytes ? options->bytes : INT64_MAX / 4;
	m->inodes_free = options->inodes ? options->inodes : INT64_MAX / 4;
	m->next_ino = 1;
	m->any_fd = -1;
	m->root = model_node(m, &root, NULL, S_IFDIR | options->root_mode);
	m->root->linked = true;
	model_take(m, inode_charge(m->root), 1);
	for (int i = 0; i < MODEL_TASKS; i++) {
		m->tasks[i].cred = options->creds[i];
		m->tasks[i].umask = 022;
		m->tasks[i].cwd = m->root;
		m->root->holds++;
	}
	return m;
}

static void node_free(struct node *n)
{
	for (int64_t i = 0; i < n->page_count; i++)
		free(n->pages[i].bytes);
	for (int64_t i = 0; i < n->entry_count; i++)
		free(n->entries[i].name);
	free(n->pages);
	free(n->entries);
	free(n->target);
	free(n->ring);
	free(n);
}

void model_free(struct model *m)
{
	for (int i = 0; i < MODEL_TASKS; i++)
		for (int fd = 0; fd < MODEL_FDS; fd++)
			if (m->tasks[i].fds[fd])
				model_close_file(m, m->tasks[i].fds[fd]);
	for (struct node *n = m->made, *next; n; n = next) {
		next = n->next_made;
		node_free(n);
	}
	free(m);
}

void model_call(void *self, const struct call *c, struct result *r)
{
	struct model *m = self;
	struct model_task *t = &m->tasks[c->task];
	memset(r, 0, sizeof *r);
	if (c->op == OP_OPEN)
		r->value = model_open(m, t, c);
	else if (c->op <= OP_READDIR)
		model_files_call(m, t, c, r);
	else if (c->op >= OP_LINK && c->op <= OP_READLINK)
		model_names_call(m, t, c, r);
	else
		model_attributes_call(m, t, c, r);
}
