/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests of cf_vfs's calls: a file system, and root's task on it. */
#ifndef KIT_TESTS_VFS_CALLS_H
#define KIT_TESTS_VFS_CALLS_H

#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task;

/* So many pages beside the root directory. */
static inline void begin(int64_t pages, int64_t inodes)
{
	struct cf_vfs_options options = { .inodes = inodes, .mode = 0777 };
	options.bytes = pages ? pages * CF_PAGE + CF_CHARGE_INODE + CF_CHARGE_DIRECTORY : 0;
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
}

static inline void end(void)
{
	cf_task_free(task);
	cf_vfs_free(vfs);
}

static inline int64_t free_pages(void)
{
	struct cf_statvfs s;
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &s), 0);
	return s.bfree;
}

static inline int64_t free_inodes(void)
{
	struct cf_statvfs s;
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &s), 0);
	return s.ffree;
}

static inline struct cf_task *user(uint32_t uid, uint32_t gid)
{
	struct cf_task *made;
	CHECK_EQUAL(cf_task_new(&made, vfs, &(struct cf_cred){ .uid = uid, .gid = gid }), 0);
	return made;
}

// A result, or one of these errors; the last is 0.
static inline void expect(int64_t result, const int *errors)
{
	for (; result < 0 && *errors && *errors != -result; errors++)
		;
	if (result < 0 && !*errors) {
		fprintf(stderr, "unexpected error %d\n", (int)-result);
		CHECK(false);
	}
}

#endif
