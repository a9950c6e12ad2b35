/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * trace.h: what an application did to its files, as recorded by others: fio's iolog (versions 2 and 3) and the output of
 * strace, with or without -f, -t, -tt, -ttt, -r, -T, -y, -yy.
 *
 * A trace is read into steps. Paths become absolute, without "." and "..", so that a replay stays below its root whatever the
 * log says. Descriptors become handles: numbers that one open gives and no other open gives again. Copies of a descriptor,
 * by dup or fork, are the same handle, which is closed with the last of them. So a replay needs one task.
 *
 * Lines that say nothing about files in a way that can be replayed are counted and told by name: unknown calls, calls
 * on descriptors that the log does not open (standard input, sockets, pipes), lines that nobody can read.
 */
#ifndef BENCH_VFS_TRACE_H
#define BENCH_VFS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum trace_call {
	TRACE_OPEN, TRACE_CLOSE, TRACE_READ, TRACE_WRITE, TRACE_PREAD, TRACE_PWRITE, TRACE_LSEEK, TRACE_FTRUNCATE,
	TRACE_FSYNC, TRACE_STAT, TRACE_LSTAT, TRACE_FSTAT, TRACE_LINK, TRACE_UNLINK, TRACE_RENAME, TRACE_MKDIR,
	TRACE_RMDIR, TRACE_SYMLINK, TRACE_READLINK, TRACE_READDIR, TRACE_CALLS
};
extern const char *const trace_call_names[TRACE_CALLS];

struct trace_step {
	enum trace_call call;
	int handle;              /* of the calls that have one; of open: the new one, -1 where it failed */
	int flags;               /* open: O_*; lseek: whence; mkdir: mode */
	int64_t offset, size;
	int64_t result;          /* as recorded; errors are negative, TRACE_NO_RESULT is unknown */
	const char *path, *other; /* other: the second path; of symlink, the target */
};
#define TRACE_NO_RESULT INT64_MIN
/* The most that one read or write moves on Linux; a log that says more is not believed. */
#define TRACE_MOST_BYTES INT64_C(0x7ffff000)

struct trace_name {
	char name[32];
	size_t count;
};

struct trace {
	struct trace_step *steps;
	size_t count, capacity;
	int handles;
	/* What is not in the steps. */
	size_t lines, not_read, foreign, never_resumed;
	struct trace_name *unknown; /* by name, in the order of their first lines */
	size_t unknowns;
	struct trace_text *texts;
};

/* Reads a log of either format. False: `why` says, in `size` bytes, what is wrong with it. */
bool trace_read(struct trace *trace, const char *log, size_t length, char *why, size_t size);
bool trace_load(struct trace *trace, const char *file, char *why, size_t size);
void trace_free(struct trace *trace);

/* What was left out, a line each; nothing where nothing was. */
void trace_tell(const struct trace *trace, FILE *to);

/* For the readers of formats. */
struct trace_step *trace_add(struct trace *trace, enum trace_call call);
void trace_unknown(struct trace *trace, const char *name, size_t length);
/* `path` below `directory`, absolute and without "." and ".."; null: too long, or no memory. */
const char *trace_path(struct trace *trace, const char *directory, const char *path, size_t length);
bool trace_read_iolog(struct trace *trace, const char *log, size_t length, char *why, size_t size);
bool trace_read_strace(struct trace *trace, const char *log, size_t length, char *why, size_t size);

/* The next line of a log: its end, without the newline. */
static inline const char *trace_line_end(const char *from, const char *end)
{
	while (from < end && *from != '\n')
		from++;
	return from;
}

#endif
