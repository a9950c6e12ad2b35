// SPDX-License-Identifier: MIT OR Apache-2.0
// What a file system may hold, and what its objects lie in.
//
// One account of bytes covers what files hold and what the name cache holds. The cache is charged for dentries that nobody
// has a reference on, which it can free at any time: so a take that does not fit frees some of them first, and to everybody
// else their bytes are free.
#include "vfs.h"

static const int64_t NO_LIMIT = INT64_C(1) << 58; // within what a counter holds
enum { MOST_CREDIT = 1 << 22 }; // of a CPU, in bytes: 1,024 pages, or 62 streams. The default is for counts of objects

// --- The account.

// `bytes` are short. At least a part of the cache, so that not every take comes here.
static bool reclaim(void *vfs, int64_t bytes)
{
	enum { LEAST = 32, PART = 16 };
	struct cf_super *super = &((struct cf_vfs *)vfs)->super;
	size_t dentries = (size_t)bytes / sizeof(struct cf_dentry) + LEAST, part = cf_dcache_unused(super) / PART;
	return cf_dcache_reclaim(super, dentries > part ? dentries : part);
}

// Gives back before it counts, so that no byte is free twice.
static int charge_cached(struct cf_super *super, int64_t bytes)
{
	struct cf_vfs *vfs = super->private_data;
	int error = bytes > 0 ? cf_space_take_blocks(&vfs->space, bytes, CF_SPACE_NO_RECLAIM) : 0;
	if (error) {
		// Relaxed: a hint for calls that end. Looked at first: at the limit this line is read by all.
		if (!__atomic_load_n(&vfs->crowded, __ATOMIC_RELAXED))
			__atomic_store_n(&vfs->crowded, 1, __ATOMIC_RELAXED);
		return error;
	}
	cf_vfs_count_add(&vfs->cached, bytes);
	if (bytes < 0)
		(void)cf_space_return_blocks(&vfs->space, -bytes);
	return 0;
}

const struct cf_super_ops cf_vfs_charged = { .charge = charge_cached };

int cf_vfs_limits_init(struct cf_vfs *vfs)
{
	const struct cf_vfs_options *o = &vfs->options;
	struct cf_space_options space = { .kind = CF_COUNTER_ADAPTIVE, .blocks = o->bytes ? o->bytes : NO_LIMIT,
					  .inodes = o->inodes ? o->inodes : NO_LIMIT,
					  .block_counter = { .cap_max = MOST_CREDIT },
					  .reclaim = o->bytes ? reclaim : NULL, .context = vfs };
	int error = cf_vfs_count_init(&vfs->cached);
	if (error)
		return error;
	error = cf_space_init(&vfs->space, &space);
	if (error)
		cf_vfs_count_destroy(&vfs->cached);
	return error;
}

void cf_vfs_limits_destroy(struct cf_vfs *vfs)
{
	cf_space_destroy(&vfs->space);
	cf_vfs_count_destroy(&vfs->cached);
}

int cf_vfs_take(struct cf_vfs *vfs, int64_t bytes, int64_t inodes)
{
	int error = cf_space_take_blocks(&vfs->space, bytes, 0);
	if (error)
		return error;
	error = cf_space_take_inodes(&vfs->space, inodes);
	if (error)
		(void)cf_space_return_blocks(&vfs->space, bytes);
	return error;
}

void cf_vfs_give(struct cf_vfs *vfs, int64_t bytes, int64_t inodes)
{
	(void)cf_space_return_blocks(&vfs->space, bytes);
	if (inodes)
		(void)cf_space_return_inodes(&vfs->space, inodes);
}

// Two sums, with none of the cache's charges in between, if they ever pause.
static int64_t free_bytes(struct cf_vfs *vfs, struct cf_space_usage *usage)
{
	enum { TRIES = 8 };
	int64_t cached = cf_vfs_count_sum(&vfs->cached), before;
	int tries = 0;
	do {
		before = cached;
		cf_space_usage(&vfs->space, usage);
		cached = cf_vfs_count_sum(&vfs->cached);
	} while (cached != before && ++tries < TRIES);
	before += usage->free_blocks;
	return before < vfs->options.bytes ? before : vfs->options.bytes;
}

void cf_vfs_statvfs_of(struct cf_vfs *vfs, struct cf_statvfs *s)
{
	struct cf_space_usage usage;
	int64_t bytes = free_bytes(vfs, &usage);
	*s = (struct cf_statvfs){ .bsize = CF_PAGE, .namemax = CF_NAME_MAX };
	if (vfs->options.bytes) {
		s->blocks = vfs->options.bytes / CF_PAGE;
		s->bfree = s->bavail = bytes / CF_PAGE;
	}
	if (vfs->options.inodes) {
		s->files = vfs->options.inodes;
		s->ffree = usage.free_inodes;
	}
}

// --- Memory.

// Whole lines: names of directories that different CPUs change share none.
static const size_t name_sizes[CF_VFS_NAME_SIZES] = { 64, 128, 320 };

int cf_vfs_memory_init(struct cf_vfs *vfs)
{
	// Files come back a grace period after their close: as many at once as a CPU has closed meanwhile.
	struct cf_slab_options file = { .name = "cf_file", .size = sizeof(struct cf_file), .align = CF_LINE, .magazine = 255 };
	int error = cf_slab_init(&vfs->file_memory, &file);
	for (int i = 0; !error && i < CF_VFS_NAME_SIZES; i++) {
		struct cf_slab_options name = { .name = "name", .size = name_sizes[i], .align = CF_LINE };
		error = cf_slab_init(&vfs->name_memory[i], &name);
	}
	return error;
}

struct cf_slab *cf_vfs_name_memory(struct cf_vfs *vfs, size_t size)
{
	int i = 0;
	while (size > name_sizes[i])
		i++;
	return &vfs->name_memory[i];
}

static void each_slab(struct cf_vfs *vfs, void (*call)(struct cf_slab *slab, size_t *sum), size_t *sum)
{
	call(&vfs->super.memory, sum);
	call(&vfs->super.icache.memory, sum);
	call(&vfs->file_memory, sum);
	for (int i = 0; i < CF_VFS_NAME_SIZES; i++)
		call(&vfs->name_memory[i], sum);
}

static void add_bytes(struct cf_slab *slab, size_t *sum)
{
	*sum += cf_slab_bytes(slab);
}

static void shrink(struct cf_slab *slab, size_t *sum)
{
	*sum += cf_slab_shrink(slab);
}

void cf_vfs_usage(struct cf_vfs *vfs, struct cf_vfs_usage *usage)
{
	size_t bytes = 0;
	each_slab(vfs, add_bytes, &bytes);
	*usage = (struct cf_vfs_usage){ .dentries = cf_dcache_count(&vfs->super), .charged = cf_vfs_count_sum(&vfs->cached),
					.memory = (int64_t)bytes };
}

void cf_vfs_memory_shrink(struct cf_vfs *vfs)
{
	size_t bytes = 0;
	each_slab(vfs, shrink, &bytes);
}

// Those of dentries and inodes are their caches'.
void cf_vfs_memory_destroy(struct cf_vfs *vfs)
{
	(void)cf_slab_destroy(&vfs->file_memory);
	for (int i = 0; i < CF_VFS_NAME_SIZES; i++)
		(void)cf_slab_destroy(&vfs->name_memory[i]);
}
