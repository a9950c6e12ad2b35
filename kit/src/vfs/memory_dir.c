// SPDX-License-Identifier: MIT OR Apache-2.0
// A directory's entries, in parts: each is a treap in the order of positions. A position is a hash of the name, the part first: it
// stays what it is whatever else comes and goes. Names of one hash get the next free position. A part's lock is that of the
// names in it; before the scaled form there is one part, and the directory's sem is its lock.
#include "vfs.h"

struct cf_memory_entry {
	struct cf_memory_entry *left, *right;
	int64_t position;
	uint32_t priority, length;
	struct cf_inode *inode;
	char name[];
};

struct cf_memory_part {
	struct cf_mutex lock;
	struct cf_memory_entry *root;
	int64_t entries, changed; // under the lock, read by everybody; when names came or went
} CF_LINE_ALIGNED;

enum { PART_BITS = CF_VFS_RCU_WALK ? 4 : 0, PARTS = 1 << PART_BITS };

static const int64_t NEVER = INT64_MIN; // before any time that utimens may set

struct cf_memory_parts {
	struct cf_memory_part part[PARTS];
	struct cf_rcu_head rcu;
};

#ifndef CF_MEMORY_HASH_BITS // fewer, to have collisions in tests
#define CF_MEMORY_HASH_BITS 56
#endif
// A part has room behind the last hash for names that are pushed aside.
enum { FIRST = 2, BITS = CF_MEMORY_HASH_BITS, PART_SHIFT = 57 };

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
	uint64_t hash = hash_of(name);
	return FIRST + (int64_t)((hash & (PARTS - 1)) << PART_SHIFT | hash >> (64 - BITS));
}

static struct cf_memory_part *part_at(const struct cf_memory_dir *dir, int64_t position)
{
	return &dir->parts->part[(position - FIRST) >> PART_SHIFT];
}

static struct cf_memory_part *part_of(const struct cf_memory_dir *dir, const struct cf_name *name)
{
	return part_at(dir, position_of(name));
}

bool cf_memory_dir_init(struct cf_memory_dir *dir)
{
	dir->parts = aligned_alloc(CF_LINE, sizeof *dir->parts);
	for (int i = 0; dir->parts && i < PARTS; i++) {
		dir->parts->part[i] = (struct cf_memory_part){ .changed = NEVER };
		cf_mutex_init(&dir->parts->part[i].lock);
	}
	return dir->parts;
}

static void free_parts(struct cf_rcu_head *head)
{
	free((char *)head - offsetof(struct cf_memory_parts, rcu));
}

// Who looks for a name's lock may be in a read section.
void cf_memory_dir_destroy(struct cf_memory_dir *dir)
{
	cf_rcu_call(&dir->parts->rcu, free_parts);
}

struct cf_mutex *cf_memory_name_lock(struct cf_inode *dir, const struct cf_name *name)
{
	return &part_of(cf_memory_dir_of(dir), name)->lock;
}

// All names of a directory: none comes or goes. Whoever has another directory's has that of one above.
void cf_memory_lock_all(const struct cf_memory_dir *dir)
{
	for (int i = 0; CF_VFS_RCU_WALK && i < PARTS; i++)
		(void)cf_mutex_lock(&dir->parts->part[i].lock); // cannot fail: nobody takes it twice
}

void cf_memory_unlock_all(const struct cf_memory_dir *dir)
{
	for (int i = 0; CF_VFS_RCU_WALK && i < PARTS; i++)
		cf_mutex_unlock(&dir->parts->part[i].lock);
}

// The name's lock is held. Size and times are the parts' until they are asked for.
void cf_memory_changed(struct cf_inode *dir, const struct cf_name *name, int64_t entries)
{
	struct cf_memory_part *part = part_of(cf_memory_dir_of(dir), name);
	int64_t now;
	if (!CF_VFS_RCU_WALK) {
		cf_inode_add_entries(dir, entries);
		return;
	}
	now = cf_vfs_now(vfs_of(dir));
	// Relaxed: numbers alone.
	__atomic_store_n(&part->entries, part->entries + entries, __ATOMIC_RELAXED);
	if (part->changed != now)
		__atomic_store_n(&part->changed, now, __ATOMIC_RELAXED);
	if (CF_INODE_LOAD(dir, mtime) > now)
		cf_inode_touch_write(dir);
}

static int64_t last_change(const struct cf_memory_dir *dir)
{
	int64_t last = NEVER;
	for (int i = 0; i < PARTS; i++) {
		int64_t changed = __atomic_load_n(&dir->parts->part[i].changed, __ATOMIC_RELAXED); // relaxed: as above
		last = changed > last ? changed : last;
	}
	return last;
}

void cf_memory_tally(const struct cf_inode *inode, int64_t *size, int64_t *changed)
{
	const struct cf_memory_dir *dir = cf_memory_dir_of((struct cf_inode *)(uintptr_t)inode);
	int64_t last = last_change(dir);
	for (int i = 0; CF_VFS_RCU_WALK && i < PARTS; i++)
		*size += __atomic_load_n(&dir->parts->part[i].entries, __ATOMIC_RELAXED); // relaxed: as above
	*changed = last > *changed ? last : *changed;
}

// The parts' times become the inode's; `forget`: which is about to be set to another one.
void cf_memory_settle(struct cf_inode *inode, bool forget)
{
	const struct cf_memory_dir *dir = cf_memory_dir_of(inode);
	if (!CF_VFS_RCU_WALK)
		return;
	cf_inode_touch_at(inode, last_change(dir));
	for (int i = 0; forget && i < PARTS; i++) {
		(void)cf_mutex_lock(&dir->parts->part[i].lock); // as above
		__atomic_store_n(&dir->parts->part[i].changed, NEVER, __ATOMIC_RELAXED);
		cf_mutex_unlock(&dir->parts->part[i].lock);
	}
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
	const struct cf_memory_part *part = part_of(dir, name);
	for (int64_t position = position_of(name); (e = at_position(part->root, position)); position++)
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
	struct cf_memory_entry **at = &part_at(dir, e->position)->root;
	while (at_position(*at, e->position))
		e->position++;
	while (*at && (*at)->priority >= e->priority)
		at = e->position < (*at)->position ? &(*at)->left : &(*at)->right;
	split(*at, e->position, &e->left, &e->right);
	*at = e;
}

static struct cf_memory_entry *take_out(struct cf_memory_dir *dir, struct cf_memory_entry *e)
{
	struct cf_memory_entry **at = &part_at(dir, e->position)->root;
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
	for (int64_t at = e->position + 1; (next = at_position(part_at(dir, at)->root, at)); at++) {
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

static struct cf_memory_entry *first_in(struct cf_memory_entry *e, int64_t position)
{
	struct cf_memory_entry *found = NULL;
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

// All names' locks are held.
struct cf_memory_entry *cf_memory_first(const struct cf_memory_dir *dir, int64_t position)
{
	struct cf_memory_entry *found = NULL;
	int64_t i = position < FIRST ? 0 : (position - FIRST) >> PART_SHIFT;
	for (; i < PARTS && !found; i++)
		found = first_in(dir->parts->part[i].root, position);
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
