/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * strace_line.h: one line of strace's output, taken apart: whose it is, what it is, and a call's name, arguments and result.
 * Nothing is copied: all point into the line.
 */
#ifndef BENCH_VFS_STRACE_LINE_H
#define BENCH_VFS_STRACE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strace_span {
	const char *text;
	size_t length;
};

enum strace_kind {
	STRACE_NOTHING,    /* an empty line */
	STRACE_CALL,       /* name(arguments) = result */
	STRACE_UNFINISHED, /* name(some arguments <unfinished ...> */
	STRACE_RESUMED,    /* <... name resumed>more arguments) = result */
	STRACE_SIGNAL,     /* --- SIGCHLD {...} ---, or strace: Process 7 attached */
	STRACE_EXIT,       /* +++ exited with 0 +++ */
	STRACE_OTHER
};

struct strace_line {
	enum strace_kind kind;
	int64_t pid;              /* 0: not said */
	struct strace_span name;  /* of the call, finished or not, or resumed */
	struct strace_span rest;  /* of the call: all from its name on; resumed: from behind "resumed>" */
};

enum { STRACE_ARGUMENTS = 8 };

struct strace_call {
	struct strace_span name, arguments[STRACE_ARGUMENTS];
	int count;
	bool known;     /* whether there is a result */
	int64_t result; /* negative: an errno */
};

struct strace_line strace_line(const char *from, const char *end);
/* A whole call: `text` is what `rest` is of STRACE_CALL. */
bool strace_call(struct strace_span text, struct strace_call *call);

bool strace_is(struct strace_span span, const char *word);
/* Whether `word` is one of the names in FLAG|FLAG. */
bool strace_has(struct strace_span span, const char *word);
/* A number at the beginning, decimal, octal or hexadecimal. */
bool strace_number(struct strace_span span, int64_t *to);
/* A string argument without its quotes and escapes; -1: none, not whole, or longer than `size`. */
long strace_string(struct strace_span span, char *to, size_t size);
/* What strace -y writes behind a descriptor: 3</a/path>. Empty: nothing. */
struct strace_span strace_annotation(struct strace_span span);

#endif
