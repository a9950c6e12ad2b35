// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 16, LONGEST_PATH = PATH_MAX - 64 };
static const size_t MOST_BYTES = (size_t)1 << 30;

const char *const trace_call_names[TRACE_CALLS] = {
	"open", "close", "read", "write", "pread", "pwrite", "lseek", "ftruncate", "fsync", "stat", "lstat", "fstat",
	"link", "unlink", "rename", "mkdir", "rmdir", "symlink", "readlink", "readdir",
};

/* Paths, one behind the other. */
struct trace_text {
	struct trace_text *next;
	size_t used;
	char bytes[TEXT_BYTES];
};

static char *keep(struct trace *trace, const char *text, size_t length)
{
	struct trace_text *at = trace->texts;
	if (!at || at->used + length + 1 > TEXT_BYTES) {
		at = malloc(sizeof *at);
		if (!at)
			return NULL;
		at->next = trace->texts;
		at->used = 0;
		trace->texts = at;
	}
	char *kept = memcpy(at->bytes + at->used, text, length);
	kept[length] = 0;
	at->used += length + 1;
	return kept;
}

/* Appends the components of `path` to what is there, where ".." takes one away, but never more than there are. */
static bool append(char *to, size_t *used, const char *path, size_t length)
{
	for (const char *end = path + length; path < end;) {
		const char *stop = memchr(path, '/', (size_t)(end - path));
		size_t part = (size_t)((stop ? stop : end) - path);
		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (*used && to[--*used] != '/')
				;
		} else if (part && !(part == 1 && *path == '.')) {
			if (*used + part + 1 > LONGEST_PATH)
				return false;
			to[(*used)++] = '/';
			memcpy(to + *used, path, part);
			*used += part;
		}
		path += part + 1;
	}
	return true;
}

const char *trace_path(struct trace *trace, const char *directory, const char *path, size_t length)
{
	char whole[PATH_MAX];
	size_t used = 0;
	if (memchr(path, 0, length) || !length)
		return NULL;
	if (*path != '/' && !append(whole, &used, directory, strlen(directory)))
		return NULL;
	if (!append(whole, &used, path, length))
		return NULL;
	if (!used)
		whole[used++] = '/';
	return keep(trace, whole, used);
}

struct trace_step *trace_add(struct trace *trace, enum trace_call call)
{
	if (trace->count == trace->capacity) {
		size_t capacity = trace->capacity ? 2 * trace->capacity : 1024;
		struct trace_step *steps = realloc(trace->steps, capacity * sizeof *steps);
		if (!steps)
			return NULL;
		trace->steps = steps;
		trace->capacity = capacity;
	}
	struct trace_step *step = &trace->steps[trace->count++];
	*step = (struct trace_step){ .call = call, .handle = -1, .result = TRACE_NO_RESULT };
	return step;
}

/* So many names are told apart; the rest is one entry. */
enum { MOST_NAMES = 200 };

static struct trace_name *known(struct trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->unknowns; i++)
		if (!strcmp(trace->unknown[i].name, name))
			return &trace->unknown[i];
	return NULL;
}

void trace_unknown(struct trace *trace, const char *name, size_t length)
{
	struct trace_name entry = { "", 0 }, *at;
	for (size_t i = 0; i < length && i < sizeof entry.name - 1; i++) {
		bool is_plain = (name[i] | 0x20) >= 'a' && (name[i] | 0x20) <= 'z';
		entry.name[i] = is_plain || (name[i] >= '0' && name[i] <= '9') || name[i] == '_' ? name[i] : '?';
	}
	at = known(trace, entry.name);
	if (!at && trace->unknowns >= MOST_NAMES) {
		entry = (struct trace_name){ "others", 0 };
		at = known(trace, entry.name);
	}
	if (!at) {
		struct trace_name *grown = realloc(trace->unknown, (trace->unknowns + 1) * sizeof *grown);
		if (!grown)
			return;
		trace->unknown = grown;
		at = &grown[trace->unknowns++];
		*at = entry;
	}
	at->count++;
}

bool trace_read(struct trace *trace, const char *log, size_t length, char *why, size_t size)
{
	static const char iolog[] = "fio version ";
	*trace = (struct trace){ 0 };
	bool is_iolog = length >= strlen(iolog) && !memcmp(log, iolog, strlen(iolog));
	bool fine = is_iolog ? trace_read_iolog(trace, log, length, why, size) :
			       trace_read_strace(trace, log, length, why, size);
	if (fine && !trace->count) {
		snprintf(why, size, "none of its %zu lines is a call on a file in fio's or strace's format", trace->lines);
		fine = false;
	}
	if (!fine)
		trace_free(trace);
	return fine;
}

static char *load(FILE *from, size_t *length)
{
	char *bytes = NULL;
	size_t room = 0;
	for (*length = 0;;) {
		if (*length == room) {
			char *grown = room < MOST_BYTES ? realloc(bytes, room = room ? 2 * room : 1 << 16) : NULL;
			if (!grown) {
				free(bytes);
				errno = EFBIG;
				return NULL;
			}
			bytes = grown;
		}
		size_t got = fread(bytes + *length, 1, room - *length, from);
		if (!got && ferror(from)) {
			free(bytes);
			return NULL;
		}
		if (!got)
			return bytes;
		*length += got;
	}
}

bool trace_load(struct trace *trace, const char *file, char *why, size_t size)
{
	FILE *from = fopen(file, "re");
	size_t length;
	char *log = from ? load(from, &length) : NULL;
	*trace = (struct trace){ 0 };
	if (!log)
		snprintf(why, size, "%s", strerror(errno));
	bool fine = log && trace_read(trace, log, length, why, size);
	free(log);
	if (from)
		fclose(from);
	return fine;
}

void trace_free(struct trace *trace)
{
	while (trace->texts) {
		struct trace_text *text = trace->texts;
		trace->texts = text->next;
		free(text);
	}
	free(trace->steps);
	free(trace->unknown);
	*trace = (struct trace){ 0 };
}

void trace_tell(const struct trace *trace, FILE *to)
{
	if (trace->unknowns) {
		fprintf(to, "not replayed:");
		for (size_t i = 0; i < trace->unknowns; i++)
			fprintf(to, "%s %s (%zu)", i ? "," : "", trace->unknown[i].name, trace->unknown[i].count);
		fprintf(to, "\n");
	}
	if (trace->foreign)
		fprintf(to, "not replayed: %zu calls on descriptors that the log does not open\n", trace->foreign);
	if (trace->never_resumed)
		fprintf(to, "not replayed: %zu calls without an end\n", trace->never_resumed);
	if (trace->not_read)
		fprintf(to, "not understood: %zu of %zu lines\n", trace->not_read, trace->lines);
}
