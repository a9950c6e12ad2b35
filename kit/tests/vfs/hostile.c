// SPDX-License-Identifier: MIT OR Apache-2.0
// Names that are too long, too deep, too many or not names at all: the error that POSIX says, from every call that takes a path.
#include "threads.h"
#include <corefold/cf_dcache.h>
#include <corefold/cf_vfs.h>

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task;

static void begin(void)
{
	CHECK_EQUAL(cf_vfs_new(&vfs, NULL), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
}

static void end(void)
{
	cf_task_free(task);
	cf_vfs_free(vfs);
}

// Calls that look for what a path names: each must say `error`.
static void check_lookups(const char *path, int error)
{
	struct cf_stat s;
	struct cf_statvfs v;
	char text[8];
	CHECK_EQUAL(cf_vfs_open(task, path, O_RDONLY, 0), error);
	CHECK_EQUAL(cf_vfs_stat(task, path, &s), error);
	CHECK_EQUAL(cf_vfs_truncate(task, path, 0), error);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, path, 0), error);
	CHECK_EQUAL(cf_vfs_fchownat(task, CF_AT_FDCWD, path, 1, 1, 0), error);
	CHECK_EQUAL(cf_vfs_utimensat(task, CF_AT_FDCWD, path, NULL, 0), error);
	CHECK_EQUAL(cf_vfs_faccessat(task, CF_AT_FDCWD, path, 0, 0), error);
	CHECK_EQUAL(cf_vfs_chdir(task, path), error);
	CHECK_EQUAL(cf_vfs_statvfs(task, path, &v), error);
	CHECK_EQUAL(cf_vfs_setxattr(task, path, "user.a", "", 0), error);
	(void)text;
}

// Calls that make or remove the last name, which is not followed.
static void check_names(const char *path, int error)
{
	struct cf_stat s;
	char text[8];
	CHECK_EQUAL(cf_vfs_lstat(task, path, &s), error);
	CHECK_EQUAL(cf_vfs_readlinkat(task, CF_AT_FDCWD, path, text, sizeof text), error);
	CHECK_EQUAL(cf_vfs_open(task, path, O_CREAT | O_WRONLY | O_EXCL, 0644), error);
	CHECK_EQUAL(cf_vfs_unlink(task, path), error);
	CHECK_EQUAL(cf_vfs_rmdir(task, path), error);
	CHECK_EQUAL(cf_vfs_mkdir(task, path, 0755), error);
	CHECK_EQUAL(cf_vfs_symlink(task, "x", path), error);
	CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, path, S_IFIFO | 0600), error);
	CHECK_EQUAL(cf_vfs_link(task, path, "/new"), error);
	CHECK_EQUAL(cf_vfs_link(task, "/file", path), error);
	CHECK_EQUAL(cf_vfs_rename(task, path, "/new"), error);
	CHECK_EQUAL(cf_vfs_rename(task, "/file", path), error);
}

static void make_file(const char *path)
{
	int fd = cf_vfs_open(task, path, O_CREAT | O_RDWR, 0644);
	CHECK(fd >= 0);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
}

TEST("an empty path names nothing")
{
	begin();
	make_file("/file");
	check_lookups("", -ENOENT);
	check_names("", -ENOENT);
	CHECK_EQUAL(cf_vfs_symlink(task, "", "/link"), -ENOENT);
	end();
}

TEST("names have 255 bytes, not 256")
{
	char name[300] = "/";
	struct cf_stat s;
	begin();
	make_file("/file");
	memset(name + 1, 'n', 255);
	make_file(name);
	CHECK_EQUAL(cf_vfs_stat(task, name, &s), 0);
	CHECK_EQUAL(cf_vfs_rename(task, name, "/short"), 0);
	CHECK_EQUAL(cf_vfs_rename(task, "/short", name), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, name), 0);
	name[256] = 'n';
	check_lookups(name, -ENAMETOOLONG);
	check_names(name, -ENAMETOOLONG);
	strcat(name, "/behind");
	check_lookups(name, -ENAMETOOLONG);
	check_names(name, -ENAMETOOLONG);
	end();
}

TEST("paths have 4,095 bytes, not 4,096")
{
	static char path[5000];
	struct cf_stat s;
	begin();
	make_file("/file");
	for (int i = 0; i < 4095; i++)
		path[i] = i % 2 ? '.' : '/';
	CHECK_EQUAL(cf_vfs_stat(task, path, &s), 0);
	memset(path, '/', 4090);
	strcpy(path + 4090, "/file");
	CHECK_EQUAL(cf_vfs_stat(task, path, &s), 0);
	CHECK_EQUAL((long)strlen(path), 4095);
	memset(path, '/', 4091);
	strcpy(path + 4091, "/file");
	check_lookups(path, -ENAMETOOLONG);
	check_names(path, -ENAMETOOLONG);
	memset(path, 'a', sizeof path - 1);
	check_names(path, -ENAMETOOLONG);
	CHECK_EQUAL(cf_vfs_symlink(task, path, "/link"), -ENAMETOOLONG);
	path[4095] = '\0';
	CHECK_EQUAL(cf_vfs_symlink(task, path, "/link"), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/link", &s), -ENAMETOOLONG);
	end();
}

TEST("slashes are not names")
{
	struct cf_stat s;
	begin();
	make_file("/file");
	CHECK_EQUAL(cf_vfs_stat(task, "////", &s), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "///file", &s), 0);
	check_lookups("/file/", -ENOTDIR);
	CHECK_EQUAL(cf_vfs_open(task, "/new/", O_CREAT | O_WRONLY, 0644), -EISDIR);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/dir///", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/dir/", &s), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/file/"), -ENOTDIR);
	CHECK_EQUAL(cf_vfs_unlink(task, "/dir/"), -EISDIR);
	CHECK_EQUAL(cf_vfs_rename(task, "/file", "/moved/"), -ENOTDIR);
	CHECK_EQUAL(cf_vfs_rename(task, "/dir/", "/moved/"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/moved//"), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/"), -EBUSY);
	CHECK_EQUAL(cf_vfs_unlink(task, "/"), -EISDIR);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/", 0755), -EEXIST);
	CHECK_EQUAL(cf_vfs_rename(task, "/", "/x"), -EBUSY);
	end();
}

TEST("40 links are followed, 41 are not")
{
	char from[32], to[32];
	struct cf_stat s;
	begin();
	make_file("/l0");
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof from, "/l%d", i);
		snprintf(to, sizeof to, "l%d", i - 1);
		CHECK_EQUAL(cf_vfs_symlink(task, to, from), 0);
	}
	CHECK_EQUAL(cf_vfs_stat(task, "/l40", &s), 0);
	CHECK(S_ISREG(s.mode));
	check_lookups("/l41", -ELOOP);
	CHECK_EQUAL(cf_vfs_lstat(task, "/l41", &s), 0);
	end();
}

TEST("links that lead in a circle end")
{
	struct cf_stat s;
	begin();
	make_file("/file");
	CHECK_EQUAL(cf_vfs_symlink(task, "self", "/self"), 0);
	CHECK_EQUAL(cf_vfs_symlink(task, "/b", "/a"), 0);
	CHECK_EQUAL(cf_vfs_symlink(task, "a/x/y", "/b"), 0);
	check_lookups("/self", -ELOOP);
	check_lookups("/a", -ELOOP);
	check_lookups("/self/", -ELOOP);
	check_names("/b/name", -ELOOP);
	CHECK_EQUAL(cf_vfs_open(task, "/self", O_CREAT | O_WRONLY, 0644), -ELOOP);
	CHECK_EQUAL(cf_vfs_lstat(task, "/self", &s), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/self"), 0);
	end();
}

TEST("a directory is not moved below itself")
{
	char path[2100] = "";
	begin();
	for (int i = 0; i < 500; i++) {
		strcat(path, "/d");
		CHECK_EQUAL(cf_vfs_mkdir(task, path, 0755), 0);
	}
	strcat(path, "/x");
	CHECK_EQUAL(cf_vfs_rename(task, "/d", path), -EINVAL);
	CHECK_EQUAL(cf_vfs_rename(task, "/d/d", path), -EINVAL);
	CHECK_EQUAL(cf_vfs_rename(task, "/d/d/d/d", "/d/d"), -ENOTEMPTY);
	CHECK_EQUAL(cf_vfs_rename(task, "/d", "/d/."), -EBUSY);
	CHECK_EQUAL(cf_vfs_rename(task, "/d/d", "/e"), 0);
	end();
}

TEST("what is not here says so")
{
	int fd;
	begin();
	make_file("/file");
	fd = cf_vfs_open(task, "/file", O_RDWR, 0);
	CHECK_EQUAL(cf_vfs_open(task, "/file", O_DIRECT | O_RDONLY, 0), -EINVAL);
	CHECK_EQUAL(cf_vfs_open(task, "/file", O_ACCMODE, 0), -EINVAL);
	CHECK_EQUAL(cf_vfs_open(task, "/file", O_PATH, 0), -EINVAL);
	CHECK_EQUAL(cf_vfs_open(task, "/", O_TMPFILE | O_RDWR, 0600), -EINVAL);
	CHECK_EQUAL(cf_vfs_renameat(task, CF_AT_FDCWD, "/file", CF_AT_FDCWD, "/", 2 /* RENAME_EXCHANGE */), -EINVAL);
	CHECK_EQUAL(cf_vfs_setxattr(task, "/file", "system.posix_acl_access", "", 0), -EOPNOTSUPP);
	CHECK_EQUAL(cf_vfs_getxattr(task, "/file", "user.x", NULL, 0), -EOPNOTSUPP);
	CHECK_EQUAL(cf_vfs_lock(task, fd, 2), -EINVAL);
	CHECK_EQUAL(cf_vfs_lock(task, 999, 2), -EBADF);
	CHECK_EQUAL(cf_vfs_mount(task, "/file", "/"), -ENODEV);
	CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, "/null", S_IFCHR | 0666), -EPERM);
	end();
}

VFS_MAIN
