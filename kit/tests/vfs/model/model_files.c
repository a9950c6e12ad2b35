// SPDX-License-Identifier: MIT OR Apache-2.0
// The model's calls on descriptors: reading, writing, positions, sizes, pipes.
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Where the page is, or would be.
static int64_t page_slot(const struct node *n, int64_t index)
{
	int64_t slot = 0;
	while (slot < n->page_count && n->pages[slot].index < index)
		slot++;
	return slot;
}

static struct page *page_find(struct node *n, int64_t index)
{
	int64_t slot = page_slot(n, index);
	return slot < n->page_count && n->pages[slot].index == index ? &n->pages[slot] : NULL;
}

static void page_remove(struct node *n, int64_t slot)
{
	free(n->pages[slot].bytes);
	memmove(&n->pages[slot], &n->pages[slot + 1], (size_t)(n->page_count - slot - 1) * sizeof n->pages[0]);
	n->page_count--;
}

// The page, new if there was a hole; null when there is no room for it.
static struct page *page_get(struct model *m, struct node *n, int64_t index)
{
	int64_t before = model_pages_charge(n), slot = page_slot(n, index), more;
	struct page *page = page_find(n, index);
	if (page)
		return page;
	n->pages = realloc(n->pages, (size_t)(n->page_count + 1) * sizeof n->pages[0]);
	memmove(&n->pages[slot + 1], &n->pages[slot], (size_t)(n->page_count - slot) * sizeof n->pages[0]);
	n->pages[slot] = (struct page){ index, calloc(1, CF_PAGE) };
	n->page_count++;
	more = model_pages_charge(n) - before;
	if (model_take(m, more, 0)) {
		page_remove(n, slot);
		return NULL;
	}
	return &n->pages[slot];
}

void model_set_size(struct model *m, struct node *n, int64_t size)
{
	int64_t before = model_pages_charge(n), first = size / CF_PAGE + (size % CF_PAGE != 0);
	struct page *last = page_find(n, size / CF_PAGE);
	while (n->page_count && n->pages[n->page_count - 1].index >= first)
		page_remove(n, n->page_count - 1);
	if (size % CF_PAGE && last)
		memset(last->bytes + size % CF_PAGE, 0, (size_t)(CF_PAGE - size % CF_PAGE));
	n->size = size;
	model_take(m, model_pages_charge(n) - before, 0);
}

void model_touch_write(struct model *m, struct node *n)
{
	n->mtime = n->ctime = m->now;
}

static bool before_or_at(const struct cf_time *a, const struct cf_time *b)
{
	return a->sec < b->sec || (a->sec == b->sec && a->nsec <= b->nsec);
}

// relatime.
void model_touch_read(struct model *m, struct node *n)
{
	if (before_or_at(&n->atime, &n->mtime) || before_or_at(&n->atime, &n->ctime) ||
	    m->now.sec - n->atime.sec >= 24 * 60 * 60)
		n->atime = m->now;
}

// The bits that a write by someone else takes away.
void model_drop_privileges(struct model_task *t, struct node *n)
{
	if (t->cred.uid == 0 || !S_ISREG(n->mode))
		return;
	if ((n->mode & S_IXGRP) || !model_in_group(&t->cred, n->gid))
		n->mode &= ~(uint32_t)S_ISGID;
	n->mode &= ~(uint32_t)S_ISUID;
}

static int64_t read_at(struct node *n, uint8_t *to, int64_t size, int64_t at)
{
	if (at >= n->size)
		return 0;
	if (size > n->size - at)
		size = n->size - at;
	for (int64_t i = 0; i < size; i++) {
		struct page *page = page_find(n, (at + i) / CF_PAGE);
		to[i] = page ? page->bytes[(at + i) % CF_PAGE] : 0;
	}
	return size;
}

static int64_t write_at(struct model *m, struct model_task *t, struct node *n, const uint8_t *from, int64_t size, int64_t at)
{
	int64_t done = 0;
	if (size == 0)
		return 0;
	if (at == INT64_MAX)
		return -EFBIG;
	if (size > INT64_MAX - at)
		size = INT64_MAX - at;
	while (done < size) {
		int64_t inside = (at + done) % CF_PAGE, part = CF_PAGE - inside;
		struct page *page = page_get(m, n, (at + done) / CF_PAGE);
		if (!page)
			break;
		if (part > size - done)
			part = size - done;
		memcpy(page->bytes + inside, from + done, (size_t)part);
		done += part;
	}
	if (!done)
		return -ENOSPC;
	if (at + done > n->size)
		n->size = at + done;
	model_drop_privileges(t, n);
	model_touch_write(m, n);
	return done;
}

static int64_t pipe_read(struct model *m, const struct file *f, uint8_t *to, int64_t size)
{
	struct node *n = f->node;
	if (size == 0)
		return 0;
	if (!n->ring_used)
		return n->writers ? -EAGAIN : 0;
	if (size > n->ring_used)
		size = n->ring_used;
	memcpy(to, n->ring, (size_t)size);
	n->ring_used -= size;
	memmove(n->ring, n->ring + size, (size_t)n->ring_used);
	if (!(f->flags & O_NOATIME))
		model_touch_read(m, n);
	return size;
}

static int64_t pipe_write(struct model *m, struct node *n, const uint8_t *from, int64_t size)
{
	int64_t room = CF_PIPE_SIZE - n->ring_used;
	if (size == 0)
		return 0;
	if (!n->readers)
		return -EPIPE;
	if (!room || (size <= CF_PAGE && size > room))
		return -EAGAIN;
	if (!n->ring)
		n->ring = malloc(CF_PIPE_SIZE);
	if (size > room)
		size = room;
	memcpy(n->ring + n->ring_used, from, (size_t)size);
	n->ring_used += size;
	model_touch_write(m, n);
	return size;
}

static int64_t read_call(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	static uint8_t bytes[CALL_BYTES];
	struct file *f = model_file(t, c->fd);
	bool placed = c->op == OP_PREAD;
	int64_t done, at = placed ? c->offset : f ? f->position : 0;
	if (placed && at < 0)
		return -EINVAL;
	if (!f)
		return -EBADF;
	if (placed && S_ISFIFO(f->node->mode))
		return -ESPIPE;
	if (!f->reads)
		return -EBADF;
	if (at > INT64_MAX - c->size)
		return -EINVAL;
	if (S_ISDIR(f->node->mode))
		return -EISDIR;
	if (S_ISFIFO(f->node->mode))
		done = pipe_read(m, f, bytes, c->size);
	else {
		done = read_at(f->node, bytes, c->size, at);
		if (!placed)
			f->position += done;
		if (c->size && !(f->flags & O_NOATIME))
			model_touch_read(m, f->node);
	}
	if (done > 0)
		r->bytes = hash_bytes(HASH_START, bytes, (size_t)done);
	return done;
}

static int64_t write_call(struct model *m, struct model_task *t, const struct call *c)
{
	static uint8_t bytes[CALL_BYTES];
	struct file *f = model_file(t, c->fd);
	bool placed = c->op == OP_PWRITE;
	int64_t done, at = placed ? c->offset : f ? f->position : 0;
	if (placed && at < 0)
		return -EINVAL;
	if (!f)
		return -EBADF;
	if (placed && S_ISFIFO(f->node->mode))
		return -ESPIPE;
	if (!f->writes)
		return -EBADF;
	if (at > INT64_MAX - c->size)
		return -EINVAL;
	fill_bytes(c, bytes);
	if (S_ISFIFO(f->node->mode))
		return pipe_write(m, f->node, bytes, c->size);
	if (f->flags & O_APPEND)
		at = f->node->size;
	done = write_at(m, t, f->node, bytes, c->size, at);
	if (!placed && done > 0)
		f->position = at + done;
	return done;
}

static int64_t seek_data(const struct node *n, int64_t from, bool hole)
{
	if (from < 0 || from >= n->size)
		return -ENXIO;
	for (int64_t at = from; at < n->size; at = (at / CF_PAGE + 1) * CF_PAGE) {
		int64_t slot = page_slot(n, at / CF_PAGE);
		bool there = slot < n->page_count && n->pages[slot].index == at / CF_PAGE;
		if (there != hole)
			return at;
		if (!there && slot < n->page_count) // to the next page at once
			at = (n->pages[slot].index - 1) * CF_PAGE;
		else if (!there)
			break;
	}
	return hole ? n->size : -ENXIO;
}

static int64_t seek(struct model_task *t, const struct call *c)
{
	struct file *f = model_file(t, c->fd);
	int64_t to = 0;
	if (!f)
		return -EBADF;
	if (c->flags < 0 || c->flags > SEEK_HOLE)
		return -EINVAL;
	if (S_ISFIFO(f->node->mode))
		return -ESPIPE;
	if (c->flags >= SEEK_DATA)
		to = seek_data(f->node, c->offset, c->flags == SEEK_HOLE);
	else if (__builtin_add_overflow(c->offset, c->flags == SEEK_CUR ? f->position : c->flags == SEEK_END ? f->node->size : 0,
					&to) || to < 0)
		to = -EINVAL;
	if (to >= 0)
		f->position = to;
	return to;
}

static int64_t truncate_call(struct model *m, struct model_task *t, const struct call *c)
{
	struct place p = { 0 };
	struct file *f = c->op == OP_FTRUNCATE ? model_file(t, c->fd) : NULL;
	struct node *n = f ? f->node : NULL;
	int64_t error = c->offset < 0 ? -EINVAL : 0;
	if (!error && c->op == OP_FTRUNCATE)
		error = !f ? -EBADF : !S_ISREG(n->mode) || !f->writes ? -EINVAL : 0;
	else if (!error) {
		error = model_walk(m, t, -100, c->path, WALK_FOLLOW, &p);
		n = p.node;
		if (!error)
			error = S_ISDIR(n->mode) ? -EISDIR : !S_ISREG(n->mode) ? -EINVAL : model_permission(t, n, 2);
		free(p.last);
	}
	if (error)
		return error;
	model_drop_privileges(t, n);
	model_set_size(m, n, c->offset);
	model_touch_write(m, n);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

// All of a directory, from its beginning.
static int64_t read_directory(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	struct file *f = model_file(t, c->fd);
	struct node *n;
	if (!f)
		return -EBADF;
	n = f->node;
	if (!S_ISDIR(n->mode))
		return -ENOTDIR;
	if (n->nlink == 0)
		return -ENOENT;
	if (n->entry_count)
		qsort(n->entries, (size_t)n->entry_count, sizeof n->entries[0], by_name);
	r->bytes = HASH_START;
	for (int64_t i = 0; i < n->entry_count; i++) {
		uint32_t type = n->entries[i].node->mode & S_IFMT;
		r->bytes = hash_bytes(r->bytes, n->entries[i].name, strlen(n->entries[i].name) + 1);
		r->bytes = hash_bytes(r->bytes, &type, sizeof type);
	}
	if (!(f->flags & O_NOATIME))
		model_touch_read(m, n);
	return n->entry_count + 2;
}

static int64_t duplicate(struct model *m, struct model_task *t, const struct call *c)
{
	struct file *f = model_file(t, c->fd);
	int fd = c->fd2;
	if (c->op == OP_DUP)
		fd = f ? model_free_fd(m, t) : -EBADF;
	else if (fd < 0 || fd >= m->limits.fds || !f)
		fd = -EBADF;
	if (fd < 0 || t->fds[fd] == f)
		return fd;
	f->references++;
	if (t->fds[fd])
		model_close_file(m, t->fds[fd]);
	t->fds[fd] = f;
	return fd;
}

static int64_t close_call(struct model *m, struct model_task *t, const struct call *c)
{
	struct file *f = model_file(t, c->fd);
	if (!f)
		return -EBADF;
	t->fds[c->fd] = NULL;
	model_close_file(m, f);
	return 0;
}

static int64_t pipe_call(struct model *m, struct model_task *t, struct result *r)
{
	int fds[2] = { 0, 0 };
	fds[0] = model_free_fd(m, t);
	for (fds[1] = fds[0] + 1; fds[0] >= 0 && fds[1] < m->limits.fds && t->fds[fds[1]];)
		fds[1]++;
	if (fds[0] < 0 || fds[1] >= m->limits.fds)
		return -EMFILE;
	struct node *n = model_node(m, t, NULL, S_IFIFO | 0600);
	n->mode = S_IFIFO | 0600;
	if (model_make_stream(m, n))
		return -ENFILE;
	t->fds[fds[0]] = model_file_new(n, O_RDONLY | O_NONBLOCK);
	t->fds[fds[1]] = model_file_new(n, O_WRONLY | O_NONBLOCK);
	memcpy(r->fds, fds, sizeof fds);
	return 0;
}

void model_files_call(struct model *m, struct model_task *t, const struct call *c, struct result *r)
{
	struct file *f = model_file(t, c->fd);
	switch (c->op) {
	case OP_CLOSE: r->value = close_call(m, t, c); break;
	case OP_DUP:
	case OP_DUP2: r->value = duplicate(m, t, c); break;
	case OP_PIPE: r->value = pipe_call(m, t, r); break;
	case OP_READ:
	case OP_PREAD: r->value = read_call(m, t, c, r); break;
	case OP_WRITE:
	case OP_PWRITE: r->value = write_call(m, t, c); break;
	case OP_LSEEK: r->value = seek(t, c); break;
	case OP_FTRUNCATE:
	case OP_TRUNCATE: r->value = truncate_call(m, t, c); break;
	case OP_FSYNC: r->value = !f ? -EBADF : S_ISFIFO(f->node->mode) ? -EINVAL : 0; break;
	default: r->value = read_directory(m, t, c, r); break;
	}
}
