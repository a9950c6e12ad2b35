// SPDX-License-Identifier: MIT OR Apache-2.0
// Files that are named by themselves (cf_handle.h), as a file server names them.
#include "threads.h"
#include <corefold/cf_handle.h>

#include <fcntl.h>
#include <sys/stat.h>

static struct cf_vfs *vfs;
static struct cf_task *task, *other;
static struct cf_handle root;

static void begin(void)
{
	struct cf_vfs_options options = { .mode = 0755, .bytes = 1 << 20, .inodes = 100 };
	CHECK_EQUAL(cf_vfs_new(&vfs, &options), 0);
	CHECK_EQUAL(cf_task_new(&task, vfs, NULL), 0);
	CHECK_EQUAL(cf_task_new(&other, vfs, &(struct cf_cred){ .uid = 7, .gid = 7 }), 0);
	cf_handle_root(vfs, &root);
}

static void end(void)
{
	cf_handle_put(&root);
	cf_task_free(other);
	cf_task_free(task);
	cf_vfs_free(vfs);
}

static void make(const char *path, uint32_t mode)
{
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, path, O_CREAT | O_WRONLY, mode)), 0);
}

TEST("a handle outlives its file's names")
{
	struct cf_handle file;
	struct cf_statvfs before, after;
	struct cf_stat s;
	int place, fd;
	begin();
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &before), 0);
	make("/a", 0600);
	CHECK_EQUAL(cf_handle_lookup(task, &root, "a", &file), 0);
	CHECK_EQUAL(cf_vfs_rename(task, "/a", "/b"), 0);
	place = cf_handle_place(task, &root);
	CHECK_EQUAL(cf_handle_link(task, &file, place, "c"), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/b"), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/c"), 0);
	CHECK_EQUAL(cf_handle_link(task, &file, place, "d"), -ENOENT);
	cf_handle_stat(&file, &s);
	CHECK_EQUAL(s.nlink, 0);
	fd = cf_handle_open(task, &file, O_RDWR);
	CHECK_EQUAL(cf_vfs_write(task, fd, "bytes", 5), 5);
	cf_handle_stat(&file, &s);
	CHECK_EQUAL(s.size, 5);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	CHECK_EQUAL(cf_vfs_close(task, place), 0);
	cf_handle_put(&file);
	CHECK_EQUAL(cf_vfs_statvfs(task, "/", &after), 0);
	CHECK_EQUAL(after.bfree, before.bfree);
	CHECK_EQUAL(after.ffree, before.ffree);
	end();
}

TEST("permissions are those of the task")
{
	struct cf_handle file, directory;
	begin();
	CHECK_EQUAL(cf_vfs_mkdir(task, "/closed", 0700), 0);
	make("/closed/a", 0640);
	CHECK_EQUAL(cf_handle_lookup(other, &root, "closed", &directory), 0);
	CHECK_EQUAL(cf_handle_lookup(other, &directory, "a", &file), -EACCES);
	CHECK_EQUAL(cf_handle_lookup(task, &directory, "a", &file), 0);
	CHECK_EQUAL(cf_handle_lookup(task, &file, "a", &file), -ENOTDIR);
	CHECK_EQUAL(cf_handle_lookup(task, &directory, "b", &file), -ENOENT);
	CHECK_EQUAL(cf_handle_open(other, &file, O_RDONLY), -EACCES);
	CHECK_EQUAL(cf_handle_open(other, &directory, O_RDONLY), -EACCES);
	CHECK_EQUAL(cf_handle_open(task, &file, O_DIRECTORY), -ENOTDIR);
	CHECK_EQUAL(cf_handle_open(task, &file, O_CREAT), -EINVAL);
	cf_handle_put(&file);
	cf_handle_put(&directory);
	end();
}

TEST("a place permits no reading or writing, and checks changes of attributes")
{
	struct cf_handle file, same;
	struct cf_dirent entry;
	int place, directory;
	char byte;
	begin();
	make("/a", 0666);
	CHECK_EQUAL(cf_handle_lookup(other, &root, "a", &file), 0);
	place = cf_handle_place(other, &file);
	CHECK_EQUAL(cf_vfs_read(other, place, &byte, 1), -EBADF);
	CHECK_EQUAL(cf_vfs_pwrite(other, place, &byte, 1, 0), -EBADF);
	CHECK_EQUAL(cf_vfs_ftruncate(other, place, 1), -EINVAL);
	CHECK_EQUAL(cf_vfs_fchmod(other, place, 0600), -EPERM);
	CHECK_EQUAL(cf_vfs_openat(other, place, "x", O_RDONLY, 0), -ENOTDIR);
	CHECK_EQUAL(cf_handle_of(other, place, &same), 0);
	CHECK(same.inode == file.inode && !same.dentry);
	cf_handle_put(&same);
	directory = cf_handle_place(other, &root);
	CHECK_EQUAL(cf_vfs_readdir(other, directory, &entry, 1), -EBADF);
	CHECK_EQUAL(cf_vfs_mkdirat(other, directory, "d", 0755), -EACCES);
	CHECK_EQUAL(cf_vfs_close(other, directory), 0);
	CHECK_EQUAL(cf_vfs_close(other, place), 0);
	cf_handle_put(&file);
	end();
}

TEST("links are read by their handle")
{
	struct cf_handle link;
	char text[8];
	begin();
	CHECK_EQUAL(cf_vfs_symlink(task, "target", "/l"), 0);
	CHECK_EQUAL(cf_handle_lookup(task, &root, "l", &link), 0);
	CHECK_EQUAL(cf_handle_readlink(task, &link, text, sizeof text), 6);
	CHECK(!memcmp(text, "target", 6));
	CHECK_EQUAL(cf_handle_readlink(task, &link, text, 3), 3);
	CHECK_EQUAL(cf_handle_readlink(task, &root, text, sizeof text), -EINVAL);
	CHECK_EQUAL(cf_handle_open(task, &link, O_RDONLY), -ELOOP);
	cf_handle_put(&link);
	end();
}

VFS_MAIN
