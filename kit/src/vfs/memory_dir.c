// SPDX-License-Identifier: MIT OR Apache-2.0
// A directory's entries, as a treap in the order of their positions. A position is a hash of the name: it stays what it is
// whatever else comes and goes. Names of one hash get the next free position.
#include "vfs.h"

struct cf_memory_entry {
	struct cf_memory_entry *left, *right;
	int64_t position;
	uint32_t priority, length;
	struct cf_inode *inode;
	char name[];
};

#ifndef CF_MEMORY_HASH_BITS // fewer, to have collisions in tests
#define CF_MEMORY_HASH_BITS 61
#endif
enum { FIRST = 2, BITS = CF_MEMORY_HASH_BITS };

// FNV-1a, and a finish that spreads it (of MurmurHash3).
static uint64_t hash_of(const struct cf_name *name)
{
	uint64_t hash = 14695981039346656037u;
	for (uint32_t i = 0; i < name->length; i++)
		hash = (hash ^ (uint8_t)name->bytes[i]) * 1099511628211u;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 33;
}

static int64_t position_of(const struct cf_name *name)
{
	return FIRST + (int64_t)(hash_of(name) >> (64 - BITS));
}

static bool is_named(const struct cf_memory_entry *e, const struct cf_name *name)
{
	return e->length == name->length && !memcmp(e->name, name->bytes, name->length);
}

static struct cf_memory_entry *at_position(struct cf_memory_entry *e, int64_t position)
{
	while (e && e->position != position)
		e = position < e->position ? e->left : e->right;
	return e;
}

// Names of one hash lie side by side, without gaps: see remove.
static struct cf_memory_entry *find(const struct cf_memory_dir *dir, const struct cf_name *name)
{
	struct cf_memory_entry *e;
	for (int64_t position = position_of(name); (e = at_position(dir->root, position)); position++)
		if (is_named(e, name))
			return e;
	return NULL;
}

struct cf_inode *cf_memory_find(const struct cf_memory_dir *dir, const struct cf_name *name)
{
	struct cf_memory_entry *e = find(dir, name);
	return e ? e->inode : NULL;
}

struct cf_inode *cf_memory_entry_inode(const struct cf_memory_entry *e)
{
	return e->inode;
}

static struct cf_slab *memory_for(struct cf_vfs *vfs, size_t length)
{
	return cf_vfs_name_memory(vfs, sizeof(struct cf_memory_entry) + length);
}

struct cf_memory_entry *cf_memory_entry_new(struct cf_vfs *vfs, const struct cf_name *name, struct cf_inode *inode)
{
	struct cf_memory_entry *e = cf_slab_alloc(memory_for(vfs, name->length));
	if (!e)
		return NULL;
	*e = (struct cf_memory_entry){ .position = position_of(name), .length = name->length, .inode = inode };
	e->priority = (uint32_t)hash_of(name);
	memcpy(e->name, name->bytes, name->length);
	return e;
}

void cf_memory_entry_free(struct cf_vfs *vfs, struct cf_memory_entry *e)
{
	if (e)
		cf_slab_free(memory_for(vfs, e->length), e);
}

// Into those before `position` and the others.
static void split(struct cf_memory_entry *e, int64_t position, struct cf_memory_entry **before, struct cf_memory_entry **behind)
{
	while (e) {
		if (e->position < position) {
			*before = e;
			before = &e->right;
			e = e->right;
		} else {
			*behind = e;
			behind = &e->left;
			e = e->left;
		}
	}
	*before = *behind = NULL;
}

static struct cf_memory_entry *merge(struct cf_memory_entry *before, struct cf_memory_entry *behind)
{
	struct cf_memory_entry *root = NULL, **at = &root;
	while (before && behind) {
		if (before->priority > behind->priority) {
			*at = before;
			at = &before->right;
			before = before->right;
		} else {
			*at = behind;
			at = &behind->left;
			behind = behind->left;
		}
	}
	*at = before ? before : behind;
	return root;
}

void cf_memory_add(struct cf_memory_dir *dir, struct cf_memory_entry *e)
{
	struct cf_memory_entry **at = &dir->root;
	while (at_position(dir->root, e->position))
		e->position++;
	while (*at && (*at)->priority >= e->priority)
		at = e->position < (*at)->position ? &(*at)->left : &(*at)->right;
	split(*at, e->position, &e->left, &e->right);
	*at = e;
}

static struct cf_memory_entry *take_out(struct cf_memory_dir *dir, struct cf_memory_entry *e)
{
	struct cf_memory_entry **at = &dir->root;
	while (*at != e)
		at = e->position < (*at)->position ? &(*at)->left : &(*at)->right;
	*at = merge(e->left, e->right);
	return e;
}

static int64_t wanted_position(const struct cf_memory_entry *e)
{
	return position_of(&(struct cf_name){ e->name, e->length, 0 });
}

struct cf_memory_entry *cf_memory_remove(struct cf_memory_dir *dir, const struct cf_name *name)
{
	struct cf_memory_entry *e = find(dir, name), *next;
	if (!e)
		return NULL;
	take_out(dir, e);
	// Those that this one had pushed aside move up, or they would not be found.
	for (int64_t at = e->position + 1; (next = at_position(dir->root, at)); at++) {
		if (wanted_position(next) == at)
			continue;
		take_out(dir, next);
		next->position = wanted_position(next);
		cf_memory_add(dir, next);
	}
	return e;
}

struct cf_inode *cf_memory_replace(struct cf_memory_dir *dir, const struct cf_name *name, struct cf_inode *inode)
{
	struct cf_memory_entry *e = find(dir, name);
	struct cf_inode *old = e->inode;
	e->inode = inode;
	return old;
}

struct cf_memory_entry *cf_memory_first(const struct cf_memory_dir *dir, int64_t position)
{
	struct cf_memory_entry *e = dir->root, *found = NULL;
	while (e) {
		if (e->position >= position) {
			found = e;
			e = e->left;
		} else {
			e = e->right;
		}
	}
	return found;
}

int64_t cf_memory_entry_copy(const struct cf_memory_entry *e, struct cf_dirent *to)
{
	to->ino = e->inode->number;
	to->type = CF_INODE_LOAD(e->inode, mode) & S_IFMT;
	to->length = e->length;
	to->next = e->position + 1;
	memcpy(to->name, e->name, e->length);
	to->name[e->length] = '\0';
	return e->position;
}
