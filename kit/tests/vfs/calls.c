// SPDX-License-Identifier: MIT OR Apache-2.0
// cf_vfs's calls: what the model does not compare, since several tasks or several file systems take part.
#include "calls.h"

TEST("the last block is used, and every byte comes back")
{
	static char page[CF_PAGE];
	begin(20, 4);
	int fd = cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0644);
	int64_t pages = 0;
	while (cf_vfs_pwrite(task, fd, page, CF_PAGE, pages * CF_PAGE) == CF_PAGE)
		pages++;
	CHECK_EQUAL(pages, 19); // an inode, a name and a node of the tree: less than one
	CHECK_EQUAL(free_pages(), 0);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, pages * CF_PAGE), -ENOSPC);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, 1, 0), 1); // what is there can be written
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, 18 * CF_PAGE + 100), CF_PAGE - 100);
	CHECK_EQUAL(cf_vfs_ftruncate(task, fd, 0), 0);
	CHECK_EQUAL(free_pages(), 19);
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, page, CF_PAGE, INT64_C(1) << 40), CF_PAGE); // it lives while it is open
	CHECK(free_pages() < 19);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	CHECK_EQUAL(free_pages(), 20);
	CHECK_EQUAL(free_inodes(), 3);
	end();
}

TEST("a file that is open lives on without its name")
{
	char back = 0;
	begin(20, 4);
	CHECK_EQUAL(cf_vfs_close(task, cf_vfs_open(task, "/a", O_CREAT | O_RDWR, 0644)), 0);
	int fd = cf_vfs_open(task, "/a", O_RDWR, 0); // counted by its CPU (holds.c): who makes a file has a reference
	CHECK_EQUAL(cf_vfs_unlink(task, "/a"), 0);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_pwrite(task, fd, "x", 1, 0), 1);
	CHECK_EQUAL(cf_vfs_pread(task, fd, &back, 1, 0), 1);
	CHECK_EQUAL(back, 'x');
	CHECK_EQUAL(cf_vfs_close(task, fd), 0);
	CHECK_EQUAL(free_pages(), 20);
	CHECK_EQUAL(free_inodes(), 3);
	end();
}

TEST("a directory of a removed one's name keeps its names in the cache")
{
	struct cf_stat s;
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0); // its dentry stays, and says that there is none
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/d/missing", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_shrink(vfs, 100), 1); // the name
	CHECK_EQUAL(cf_vfs_shrink(vfs, 100), 1); // its directory
	end();
}

TEST("a directory that is removed or replaced goes at once, whatever was looked up in it")
{
	struct cf_stat s;
	begin(0, 4);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/d/missing", &s), -ENOENT);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/d"), 0);
	CHECK_EQUAL(free_inodes(), 3);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/d", 0755), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/e", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(task, "/e/missing", &s), -ENOENT);
	CHECK_EQUAL(cf_vfs_rename(task, "/d", "/e"), 0);
	CHECK_EQUAL(free_inodes(), 2);
	CHECK_EQUAL(cf_vfs_rmdir(task, "/e"), 0);
	end();
}

TEST("no inode is left, and none is lost")
{
	begin(100, 3);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/a", 0755), 0);
	CHECK_EQUAL(cf_vfs_symlink(task, "x", "/b"), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/c", 0755), -ENOSPC);
	CHECK_EQUAL(cf_vfs_open(task, "/c", O_CREAT | O_WRONLY, 0644), -ENOSPC);
	CHECK_EQUAL(cf_vfs_link(task, "/b", "/c"), 0); // a link is no inode
	CHECK_EQUAL(cf_vfs_open(task, "/", O_RDONLY, 0), 0); // no descriptor was lost either
	CHECK_EQUAL(cf_vfs_close(task, 0), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/b"), 0);
	CHECK_EQUAL(free_inodes(), 0);
	CHECK_EQUAL(cf_vfs_unlink(task, "/c"), 0);
	CHECK_EQUAL(free_inodes(), 1);
	end();
}

TEST("positions of a directory survive changes")
{
	enum { FILES = 200 };
	struct cf_dirent entry;
	bool seen[FILES] = { false };
	char name[32];
	int64_t position = 0;
	begin(0, 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "/f%d", i);
		CHECK_EQUAL(cf_vfs_mknodat(task, CF_AT_FDCWD, name, S_IFREG | 0644), 0);
	}
	// Half of the files go and others come while it is read, each time through another descriptor.
	for (int round = 0;; round++) {
		int fd = cf_vfs_open(task, "/", O_RDONLY, 0), number;
		CHECK_EQUAL(cf_vfs_lseek(task, fd, position, SEEK_SET), position);
		int got = cf_vfs_readdir(task, fd, &entry, 1);
		CHECK_EQUAL(cf_vfs_close(task, fd), 0);
		if (got <= 0)
			break;
		position = entry.next;
		if (sscanf(entry.name, "f%d", &number) == 1 && number < FILES) {
			CHECK(!seen[number]);
			seen[number] = true;
		}
		snprintf(name, sizeof name, "/f%d", (round * 2 + 1) % FILES);
		cf_vfs_unlink(task, name);
		snprintf(name, sizeof name, "/f%d", FILES + round);
		cf_vfs_mknodat(task, CF_AT_FDCWD, name, S_IFREG | 0644);
		if (round > 3 * FILES)
			break;
	}
	for (int i = 0; i < FILES; i += 2)
		CHECK(seen[i]);
	end();
}

TEST("a task's rights are its own")
{
	struct cf_stat s;
	begin(0, 0);
	struct cf_task *one = user(1, 1), *two = user(2, 2);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/sticky", 0777), 0);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/sticky", 01777), 0);
	CHECK_EQUAL(cf_vfs_close(one, cf_vfs_open(one, "/sticky/one", O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQUAL(cf_vfs_open(two, "/sticky/one", O_RDONLY, 0), -EACCES);
	CHECK_EQUAL(cf_vfs_unlink(two, "/sticky/one"), -EPERM);
	CHECK_EQUAL(cf_vfs_rename(two, "/sticky/one", "/sticky/two"), -EPERM);
	CHECK_EQUAL(cf_vfs_unlink(one, "/sticky/one"), 0);
	CHECK_EQUAL(cf_vfs_mkdir(task, "/group", 0777), 0);
	CHECK_EQUAL(cf_vfs_fchownat(task, CF_AT_FDCWD, "/group", 0, 7, 0), 0);
	CHECK_EQUAL(cf_vfs_fchmodat(task, CF_AT_FDCWD, "/group", 02777), 0);
	CHECK_EQUAL(cf_vfs_mkdir(one, "/group/sub", 0755), 0);
	CHECK_EQUAL(cf_vfs_stat(one, "/group/sub", &s), 0);
	CHECK_EQUAL(s.gid, 7);
	CHECK_EQUAL(s.mode, S_IFDIR | 02755);
	CHECK_EQUAL(cf_vfs_chdir(one, "/group"), 0);
	CHECK_EQUAL(cf_vfs_stat(one, "sub", &s), 0);
	CHECK_EQUAL(cf_vfs_stat(two, "sub", &s), -ENOENT); // another working directory
	cf_task_free(one);
	cf_task_free(two);
	end();
}

// --- Pipes and sockets.

static int pipe_ends[2];

static void pipe_writer(int id, void *unused)
{
	char bytes[1000];
	(void)unused;
	for (int i = 0; i < 300; i++) {
		if (id == 0) {
			memset(bytes, i, sizeof bytes);
			CHECK_EQUAL(cf_vfs_write(task, pipe_ends[1], bytes, sizeof bytes), sizeof bytes);
		} else {
			for (size_t got = 0; got < sizeof bytes;)
				got += (size_t)cf_vfs_read(task, pipe_ends[0], bytes + got, sizeof bytes - got);
			CHECK(bytes[0] == (char)i && bytes[999] == (char)i);
		}
	}
	if (id == 0)
		CHECK_EQUAL(cf_vfs_close(task, pipe_ends[1]), 0);
	else
		CHECK_EQUAL(cf_vfs_read(task, pipe_ends[0], bytes, 1), 0);
}

TEST("a pipe passes bytes in order, and who must wait sleeps")
{
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_pipe(task, pipe_ends, 0), 0);
	vfs_crew(2, pipe_writer, NULL);
	CHECK_EQUAL(cf_vfs_close(task, pipe_ends[0]), 0);
	end();
}

TEST("sockets are connected both ways")
{
	char c = 0;
	int fds[2];
	struct cf_stat s;
	begin(0, 0);
	CHECK_EQUAL(cf_vfs_socketpair(task, fds, O_NONBLOCK), 0);
	CHECK_EQUAL(cf_vfs_fstat(task, fds[0], &s), 0);
	CHECK(S_ISSOCK(s.mode));
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), -EAGAIN);
	CHECK_EQUAL(cf_vfs_write(task, fds[0], "x", 1), 1);
	CHECK_EQUAL(cf_vfs_write(task, fds[1], "y", 1), 1);
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), 1);
	CHECK_EQUAL(c, 'x');
	CHECK_EQUAL(cf_vfs_read(task, fds[0], &c, 1), 1);
	CHECK_EQUAL(c, 'y');
	CHECK_EQUAL(cf_vfs_lseek(task, fds[0], 0, SEEK_SET), -ESPIPE);
	CHECK_EQUAL(cf_vfs_close(task, fds[0]), 0);
	CHECK_EQUAL(cf_vfs_read(task, fds[1], &c, 1), 0);
	CHECK_EQUAL(cf_vfs_write(task, fds[1], "z", 1), -EPIPE);
	end();
}

VFS_MAIN
