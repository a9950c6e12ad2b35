// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system as a whole.
#include "vfs.h"

#include <time.h>

enum { MOST_DENTRIES = 1 << 20 };

int64_t cf_vfs_now(const struct cf_vfs *vfs)
{
	struct timespec t;
	if (vfs->options.clock) {
		struct cf_time own = vfs->options.clock(vfs->options.clock_argument);
		return cf_ns_of(own.sec, own.nsec);
	}
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t drop(struct cf_vfs *vfs, size_t count)
{
	return cf_dcache_shrink(&vfs->super, count) + cf_icache_shrink(&vfs->super.icache, count);
}

int64_t cf_vfs_shrink(struct cf_vfs *vfs, int64_t count)
{
	int64_t dropped = (int64_t)drop(vfs, (size_t)count);
	cf_vfs_memory_shrink(vfs);
	return dropped;
}

// A charge was refused: old names make room for new ones.
static void make_room(struct cf_vfs *vfs)
{
	enum { LEAST = 32, PART = 16 };
	size_t part = cf_dcache_unused(&vfs->super) / PART;
	__atomic_store_n(&vfs->crowded, 0, __ATOMIC_RELAXED); // relaxed: a hint
	cf_dcache_shrink(&vfs->super, part > LEAST ? part : LEAST);
}

void cf_vfs_relax(struct cf_vfs *vfs)
{
	if (CF_UNLIKELY(cf_vfs_count_read(&vfs->super.dentries) > vfs->most_dentries))
		drop(vfs, (size_t)vfs->most_dentries / 8);
	if (CF_UNLIKELY(__atomic_load_n(&vfs->crowded, __ATOMIC_RELAXED))) // relaxed: a hint
		make_room(vfs);
	cf_rcu_relax();
}

static int init_parts(struct cf_vfs *vfs)
{
	const struct cf_vfs_options *o = &vfs->options;
	struct cf_lru_options files = { .one = !CF_VFS_FILES_PERCPU, .lock = CF_VFS_LOCK_KIND };
	// Enough that calls on different names seldom meet on a line of the table.
	enum { BUCKETS = CF_VFS_RCU_WALK ? 1 << 14 : CF_VFS_DENTRIES_SPLIT ? 1 << 12 : 0 };
	struct cf_super_options super = { .icache_ops = o->backend->icache_ops, .private_data = vfs, .dentry_buckets = BUCKETS,
					  .ops = o->bytes ? &cf_vfs_charged : NULL };
	int error = cf_vfs_limits_init(vfs);
	if (error)
		return error;
	error = cf_vfs_memory_init(vfs);
	error = error ? error : cf_lru_init(&vfs->files, &files);
	if (!error && (error = cf_super_init(&vfs->super, &super)))
		cf_lru_destroy(&vfs->files);
	if (error) {
		cf_vfs_memory_destroy(vfs);
		cf_vfs_limits_destroy(vfs);
	}
	return error;
}

static void destroy(struct cf_vfs *vfs)
{
	(void)cf_super_destroy(&vfs->super);
	cf_rcu_barrier();
	cf_lru_destroy(&vfs->files);
	cf_vfs_memory_destroy(vfs);
	cf_vfs_limits_destroy(vfs);
	free(vfs);
}

int cf_vfs_new(struct cf_vfs **made, const struct cf_vfs_options *options)
{
	static const struct cf_vfs_options none;
	struct cf_vfs *vfs;
	int error;
	if (!options)
		options = &none;
	if (options->bytes < 0 || options->inodes < 0 || (options->mode & ~07777u))
		return -EINVAL;
	vfs = aligned_alloc(CF_LINE, (sizeof *vfs + CF_LINE - 1) / CF_LINE * CF_LINE);
	if (!vfs)
		return -ENOMEM;
	memset(vfs, 0, sizeof *vfs);
	vfs->options = *options;
	vfs->options.mode = options->mode ? options->mode : 0755;
	vfs->options.backend = options->backend ? options->backend : &cf_backend_memory;
	vfs->most_dentries = MOST_DENTRIES;
	error = init_parts(vfs);
	if (error) {
		free(vfs);
		return error;
	}
	error = vfs->options.backend->mount(vfs, vfs->options.backend_argument, &vfs->root);
	if (!error) {
		cf_inode_get(vfs->root);
		error = cf_super_set_root(&vfs->super, vfs->root);
	}
	if (error)
		destroy(vfs);
	else
		*made = vfs;
	return error;
}

void cf_vfs_free(struct cf_vfs *vfs)
{
	if (!vfs)
		return;
	if (vfs->options.backend->unmount)
		vfs->options.backend->unmount(vfs, vfs->root);
	cf_inode_put(vfs->root);
	destroy(vfs);
}
