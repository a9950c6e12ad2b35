// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system as a whole.
#include "vfs.h"

#include <time.h>

enum { MOST_DENTRIES = 1 << 20 };
static const int64_t NO_LIMIT = INT64_C(1) << 58; // within what a counter holds

int64_t cf_vfs_now(const struct cf_vfs *vfs)
{
	struct timespec t;
	if (vfs->options.clock) {
		struct cf_time own = vfs->options.clock(vfs->options.clock_argument);
		return own.sec * 1000000000 + own.nsec;
	}
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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

int64_t cf_vfs_shrink(struct cf_vfs *vfs, int64_t count)
{
	return (int64_t)(cf_dcache_shrink(&vfs->super, (size_t)count) + cf_icache_shrink(&vfs->super.icache, (size_t)count));
}

void cf_vfs_relax(struct cf_vfs *vfs)
{
	if (CF_UNLIKELY(cf_vfs_count_read(&vfs->super.dentries) > vfs->most_dentries))
		cf_vfs_shrink(vfs, vfs->most_dentries / 8);
	cf_rcu_relax();
}

void cf_vfs_statvfs_of(struct cf_vfs *vfs, struct cf_statvfs *s)
{
	struct cf_space_usage usage;
	*s = (struct cf_statvfs){ .bsize = CF_PAGE, .namemax = CF_NAME_MAX };
	cf_space_usage(&vfs->space, &usage);
	if (vfs->options.bytes) {
		s->blocks = vfs->options.bytes / CF_PAGE;
		s->bfree = s->bavail = usage.free_blocks / CF_PAGE;
	}
	if (vfs->options.inodes) {
		s->files = vfs->options.inodes;
		s->ffree = usage.free_inodes;
	}
}

static int init_parts(struct cf_vfs *vfs)
{
	const struct cf_vfs_options *o = &vfs->options;
	struct cf_space_options space = { .kind = CF_COUNTER_ADAPTIVE, .blocks = o->bytes ? o->bytes : NO_LIMIT,
					  .inodes = o->inodes ? o->inodes : NO_LIMIT };
	struct cf_lru_options files = { .one = !CF_VFS_FILES_PERCPU, .lock = CF_VFS_LOCK_KIND };
	struct cf_super_options super = { .icache_ops = o->backend->icache_ops, .private_data = vfs };
	int error = cf_space_init(&vfs->space, &space);
	if (error)
		return error;
	error = cf_lru_init(&vfs->files, &files);
	if (!error && (error = cf_super_init(&vfs->super, &super)))
		cf_lru_destroy(&vfs->files);
	if (error)
		cf_space_destroy(&vfs->space);
	return error;
}

static void destroy(struct cf_vfs *vfs)
{
	(void)cf_super_destroy(&vfs->super);
	cf_rcu_barrier();
	cf_lru_destroy(&vfs->files);
	cf_space_destroy(&vfs->space);
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
