// SPDX-License-Identifier: MIT OR Apache-2.0
// fio's iolog. After the line "fio version 2 iolog", each line is
//   FILE ACTION                 add, open, close
//   FILE ACTION OFFSET LENGTH   read, write, sync, datasync, trim; wait (OFFSET in microseconds)
// Version 3 has a timestamp in front of each line. Files are opened for reading and writing, and created: fio lays them
// out before it begins.
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The fields of a line; more than there can be are one too many. */
enum { FIELDS = 6 };

struct field {
	const char *text;
	size_t length;
};

static int split(const char *at, const char *end, struct field fields[FIELDS])
{
	int count = 0;
	while (at < end) {
		while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
			at++;
		const char *from = at;
		while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
			at++;
		if (at == from)
			break;
		if (count == FIELDS)
			return FIELDS + 1;
		fields[count++] = (struct field){ from, (size_t)(at - from) };
	}
	return count;
}

static bool is(struct field field, const char *word)
{
	return field.length == strlen(word) && !memcmp(field.text, word, field.length);
}

static bool number(struct field field, int64_t *to)
{
	int64_t value = 0;
	for (size_t i = 0; i < field.length; i++) {
		int digit = field.text[i] - '0';
		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*to = value;
	return field.length > 0;
}

/* Files that are open now. A job has few. */
struct files {
	struct open_file {
		const char *path;
		int handle;
	} *all;
	size_t count;
};

static struct open_file *find(struct files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->all[i].path, path))
			return &files->all[i];
	return NULL;
}

static bool opened(struct trace *trace, struct files *files, const char *path)
{
	struct open_file *grown = realloc(files->all, (files->count + 1) * sizeof *grown);
	struct trace_step *step = grown ? trace_add(trace, TRACE_OPEN) : NULL;
	if (grown)
		files->all = grown;
	if (!step)
		return false;
	grown[files->count++] = (struct open_file){ path, trace->handles };
	step->path = path;
	step->flags = O_RDWR | O_CREAT;
	step->handle = trace->handles++;
	step->result = 0;
	return true;
}

static bool closed(struct trace *trace, struct files *files, struct open_file *file)
{
	struct trace_step *step = trace_add(trace, TRACE_CLOSE);
	if (!step)
		return false;
	step->handle = file->handle;
	step->result = 0;
	*file = files->all[--files->count];
	return true;
}

static bool moved(struct trace *trace, int handle, enum trace_call call, int64_t offset, int64_t size)
{
	struct trace_step *step = trace_add(trace, call);
	if (!step)
		return false;
	step->handle = handle;
	step->offset = offset;
	step->size = size;
	step->result = call == TRACE_FSYNC ? 0 : call == TRACE_PWRITE ? size : TRACE_NO_RESULT;
	return true;
}

/* False: no memory. */
static bool one_line(struct trace *trace, struct files *files, struct field *fields, int count)
{
	int64_t offset = 0, size = 0;
	if (count != 2 && !(count == 4 && number(fields[2], &offset) && number(fields[3], &size) &&
			    size <= TRACE_MOST_BYTES)) {
		trace->not_read++;
		return true;
	}
	if (is(fields[1], "add"))
		return true;
	const char *path = trace_path(trace, "/", fields[0].text, fields[0].length);
	struct open_file *file = path ? find(files, path) : NULL;
	if (!path) {
		trace->not_read++;
		return true;
	}
	if (is(fields[1], "open"))
		return file || opened(trace, files, path);
	if (is(fields[1], "wait") || is(fields[1], "trim") || (count == 4 && is(fields[1], "close"))) {
		trace_unknown(trace, fields[1].text, fields[1].length);
		return true;
	}
	enum trace_call call = is(fields[1], "read")	  ? TRACE_PREAD :
			       is(fields[1], "write")	  ? TRACE_PWRITE :
			       is(fields[1], "sync")	  ? TRACE_FSYNC :
			       is(fields[1], "datasync")  ? TRACE_FSYNC :
			       is(fields[1], "close")	  ? TRACE_CLOSE :
							    TRACE_CALLS;
	if (call == TRACE_CALLS)
		trace_unknown(trace, fields[1].text, fields[1].length);
	else if (call != TRACE_CLOSE && call != TRACE_FSYNC && count != 4)
		trace->not_read++;
	else if (!file)
		trace->foreign++;
	else
		return call == TRACE_CLOSE ? closed(trace, files, file) :
					     moved(trace, file->handle, call, offset, size);
	return true;
}

bool trace_read_iolog(struct trace *trace, const char *log, size_t length, char *why, size_t size)
{
	struct files files = { NULL, 0 };
	const char *end = log + length, *stop = trace_line_end(log, end);
	struct field fields[FIELDS];
	int64_t version = 0;
	bool fine = true;
	if (split(log, stop, fields) != 4 || !number(fields[2], &version) || version < 2 || version > 3) {
		snprintf(why, size, "an iolog of a version that is not read: 2 and 3 are");
		return false;
	}
	for (const char *at = stop + 1; fine && at < end; at = stop + 1) {
		stop = trace_line_end(at, end);
		int skip = version == 3, count = split(at, stop, fields);
		trace->lines++;
		if (count > skip && count <= FIELDS)
			fine = one_line(trace, &files, fields + skip, count - skip);
		else
			trace->not_read += count > 0;
	}
	free(files.all);
	if (!fine)
		snprintf(why, size, "no memory for its steps");
	return fine;
}
