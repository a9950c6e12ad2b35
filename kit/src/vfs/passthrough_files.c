// SPDX-License-Identifier: MIT OR Apache-2.0
// The backend that passes through to a directory: contents of files, directories and named pipes. Each open file has a descriptor
// of its own.
#include "passthrough.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static int open_file(struct cf_file *file)
{
	char path[FD_PATH];
	int fd = open(path_of(file->inode, path), (file->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == EMFILE ? -ENFILE : -errno;
	file->private_data = (void *)(intptr_t)(fd + 1);
	return 0;
}

static int opened(const struct cf_file *file)
{
	return (int)(intptr_t)file->private_data - 1;
}

static void release_file(struct cf_file *file)
{
	close(opened(file));
}

static int64_t read_file(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	ssize_t done = pread(opened(file), to, size, offset);
	return done < 0 ? -errno : done;
}

static int64_t write_file(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append)
{
	ssize_t done = append ? write(opened(file), from, size) : pwrite(opened(file), from, size, *offset);
	if (done < 0)
		return -errno;
	CF_TEST_POINT("passthrough: written");
	if (append) // where the end was, though others have written by now
		*offset = lseek(opened(file), 0, SEEK_CUR) - done;
	cf_passthrough_refresh(file->inode);
	return done;
}

static int64_t seek_file(struct cf_file *file, int64_t offset, bool hole)
{
	off_t at = lseek(opened(file), offset, hole ? SEEK_HOLE : SEEK_DATA);
	return at < 0 ? -errno : at;
}

static int sync_file(struct cf_file *file)
{
	return answer(fsync(opened(file)));
}

static const struct cf_file_ops file_ops = { .read = read_file, .write = write_file, .seek = seek_file, .open = open_file,
					     .release = release_file, .sync = sync_file, .waits = true };

// FUSE allows names above 255 bytes; no call here could reach such a file.
static bool is_listed(const char *name)
{
	return strcmp(name, ".") && strcmp(name, "..") && strlen(name) <= CF_NAME_MAX;
}

// Positions are the directory's own, shifted by those of "." and "..".
static int read_directory(struct cf_file *file, int64_t position, struct cf_dirent *entries, int most)
{
	_Alignas(struct dirent64) char bytes[4096];
	int count = 0;
	ssize_t got = 0;
	if (position == INT64_MAX || lseek(opened(file), position - 2, SEEK_SET) < 0)
		return position == INT64_MAX ? 0 : -errno;
	while (count < most && (got = getdents64(opened(file), bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0; at < got && count < most;) {
			const struct dirent64 *d = (const struct dirent64 *)(bytes + at);
			const char *name = bytes + at + offsetof(struct dirent64, d_name);
			struct cf_dirent *to = &entries[count];
			at += d->d_reclen;
			if (!is_listed(name))
				continue;
			to->ino = d->d_ino;
			to->next = d->d_off > INT64_MAX - 2 ? INT64_MAX : d->d_off + 2;
			to->type = DTTOIF(d->d_type);
			to->length = (uint32_t)strlen(name);
			memcpy(to->name, name, to->length + 1);
			count++;
		}
	return got < 0 ? -errno : count;
}

static const struct cf_file_ops directory_ops = { .readdir = read_directory, .open = open_file, .release = release_file,
						  .sync = sync_file, .waits = true };

// --- Named pipes: the directory's own, so processes outside are at the other end.

static int64_t read_pipe(struct cf_file *file, void *to, size_t size, int64_t offset)
{
	(void)offset;
	ssize_t done = read(opened(file), to, size);
	return done < 0 ? -errno : done;
}

// Without a reader: -EPIPE, and no signal for this process. One that is there already stays.
static int64_t write_pipe(struct cf_file *file, const void *from, size_t size, int64_t *offset, bool append)
{
	sigset_t broken, before, pending;
	int64_t done;
	(void)offset, (void)append;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	done = write(opened(file), from, size);
	done = done < 0 ? -errno : done;
	if (done == -EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken, NULL, &(struct timespec){ 0, 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return done;
}

static const struct cf_file_ops pipe_ops = { .read = read_pipe, .write = write_pipe, .open = open_file, .release = release_file,
					     .waits = true, .stream = true };

const struct cf_file_ops *cf_passthrough_file_ops(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return &file_ops;
	case S_IFDIR: return &directory_ops;
	case S_IFIFO: return &pipe_ops;
	default: return NULL;
	}
}
