// SPDX-License-Identifier: MIT OR Apache-2.0
#include "strace_line.h"

#include <errno.h>
#include <string.h>

static struct strace_span span(const char *from, const char *end)
{
	return (struct strace_span){ from, (size_t)(end - from) };
}

static const char *skip_spaces(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static bool begins(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) >= strlen(word) && !memcmp(at, word, strlen(word));
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* Whose line it is, and times: PID, [pid PID], seconds or a time of day with or without a fraction, (+ seconds). */
static const char *skip_prefix(const char *at, const char *end, int64_t *pid)
{
	for (;;) {
		const char *from = at = skip_spaces(at, end);
		bool digits_only = true;
		if (begins(at, end, "[pid ")) {
			const char *stop = memchr(at, ']', (size_t)(end - at));
			from = skip_spaces(at + 5, end);
			if (!stop || !strace_number(span(from, stop), pid))
				return at;
			at = stop + 1;
			continue;
		}
		if (begins(at, end, "(+")) {
			const char *stop = memchr(at, ')', (size_t)(end - at));
			at = stop ? stop + 1 : end;
			continue;
		}
		for (; at < end && (is_digit(*at) || *at == ':' || *at == '.'); at++)
			digits_only &= is_digit(*at);
		if (at == from || at == end || *at != ' ')
			return from;
		if (digits_only && !strace_number(span(from, at), pid))
			return from;
	}
}

struct strace_line strace_line(const char *from, const char *end)
{
	static const char unfinished[] = "<unfinished ...>", resumed[] = " resumed>";
	struct strace_line line = { STRACE_OTHER, 0, { from, 0 }, { from, 0 } };
	while (end > from && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	const char *at = skip_prefix(from, end, &line.pid), *name = at;
	line.rest = span(at, end);
	if (at == end)
		line.kind = STRACE_NOTHING;
	else if (begins(at, end, "--- ") || begins(at, end, "strace: Process "))
		line.kind = STRACE_SIGNAL;
	else if (begins(at, end, "+++ "))
		line.kind = STRACE_EXIT;
	else if (begins(at, end, "<... ")) {
		for (at = name = at + 5; at < end && is_name(*at); at++)
			;
		line.name = span(name, at);
		if (begins(at, end, resumed)) {
			line.kind = STRACE_RESUMED;
			line.rest = span(at + strlen(resumed), end);
		}
	} else {
		for (; at < end && is_name(*at); at++)
			;
		line.name = span(name, at);
		if (at == name || at == end || *at != '(')
			return line;
		bool cut = (size_t)(end - at) > strlen(unfinished) &&
			   !memcmp(end - strlen(unfinished), unfinished, strlen(unfinished));
		line.kind = cut ? STRACE_UNFINISHED : STRACE_CALL;
		if (cut)
			line.rest.length -= strlen(unfinished);
	}
	return line;
}

/* Behind a quoted string that begins here. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && at + 1 < end)
			at++;
	return at < end ? at + 1 : end;
}

/* Behind an annotation that begins here. Addresses in it have "->"; a '>' of a path is escaped. */
static const char *skip_annotation(const char *at, const char *end)
{
	while (at < end && !(*at == '>' && at[-1] != '-'))
		at++;
	return at < end ? at + 1 : end;
}

/* Behind one argument: at the ',' or ')' that ends it. Null: the text ends before. */
static const char *skip_argument(const char *at, const char *end)
{
	for (int depth = 0; at < end;) {
		if (*at == '"') {
			at = skip_string(at, end);
			continue;
		}
		if (*at == '<' && is_name(at[-1])) {
			at = skip_annotation(at, end);
			continue;
		}
		if (depth == 0 && (*at == ',' || *at == ')'))
			return at;
		depth += (*at == '[' || *at == '{' || *at == '(') - (*at == ']' || *at == '}' || *at == ')');
		at++;
	}
	return NULL;
}

static const struct {
	const char *name;
	int number;
} errors[] = {
#define ERROR(e) { #e, e }
	ERROR(EPERM), ERROR(ENOENT), ERROR(EINTR), ERROR(EIO), ERROR(ENXIO), ERROR(EBADF), ERROR(EAGAIN),
	ERROR(ENOMEM), ERROR(EACCES), ERROR(EFAULT), ERROR(EBUSY), ERROR(EEXIST), ERROR(EXDEV), ERROR(ENODEV),
	ERROR(ENOTDIR), ERROR(EISDIR), ERROR(EINVAL), ERROR(ENFILE), ERROR(EMFILE), ERROR(ENOTTY), ERROR(ETXTBSY),
	ERROR(EFBIG), ERROR(ENOSPC), ERROR(ESPIPE), ERROR(EROFS), ERROR(EMLINK), ERROR(EPIPE), ERROR(ERANGE),
	ERROR(ENAMETOOLONG), ERROR(ENOSYS), ERROR(ENOTEMPTY), ERROR(ELOOP), ERROR(ENODATA), ERROR(EOVERFLOW),
	ERROR(EOPNOTSUPP), ERROR(ESTALE), ERROR(EDQUOT),
};

/* "= 3</a>", "= -1 ENOENT (No such file or directory)", "= ?": an error without a known name is EIO. */
static bool result(const char *at, const char *end, struct strace_call *call)
{
	at = skip_spaces(at, end);
	if (at == end || *at != '=')
		return false;
	at = skip_spaces(at + 1, end);
	call->known = strace_number(span(at, end), &call->result);
	if (!call->known)
		return at < end && *at == '?';
	if (call->result >= 0)
		return true;
	while (at < end && *at != ' ')
		at++;
	const char *name = at = skip_spaces(at, end);
	while (at < end && is_name(*at))
		at++;
	call->result = -EIO;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (strace_is(span(name, at), errors[i].name))
			call->result = -errors[i].number;
	return true;
}

bool strace_call(struct strace_span text, struct strace_call *call)
{
	const char *at = text.text, *end = text.text + text.length;
	*call = (struct strace_call){ .count = 0 };
	while (at < end && is_name(*at))
		at++;
	call->name = span(text.text, at);
	if (at == text.text || at == end || *at != '(')
		return false;
	do {
		const char *from = skip_spaces(at + 1, end);
		at = skip_argument(from, end);
		if (!at)
			return false;
		if (call->count < STRACE_ARGUMENTS && (at > from || *at == ','))
			call->arguments[call->count++] = span(from, at);
	} while (*at == ',');
	return result(at + 1, end, call);
}

bool strace_is(struct strace_span s, const char *word)
{
	return s.length == strlen(word) && !memcmp(s.text, word, s.length);
}

bool strace_has(struct strace_span s, const char *word)
{
	for (const char *at = s.text, *end = at + s.length; at < end;) {
		const char *from = at;
		while (at < end && is_name(*at))
			at++;
		if (strace_is(span(from, at), word))
			return true;
		at += at < end;
	}
	return false;
}

bool strace_number(struct strace_span s, int64_t *to)
{
	const char *at = s.text, *end = at + s.length;
	bool negative = at < end && *at == '-', any = false;
	int base = 10;
	int64_t value = 0;
	at += negative;
	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		base = 16, at += 2;
	else if (end - at > 1 && at[0] == '0' && is_digit(at[1]))
		base = 8;
	for (; at < end; at++, any = true) {
		int low = *at | 0x20;
		int digit = is_digit(*at) ? *at - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 16;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*to = negative ? -value : value;
	return any;
}

static int hexadecimal(char c)
{
	int low = c | 0x20;
	return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* What an escape stands for, and behind it. */
static const char *escape(const char *at, const char *end, char *to)
{
	static const char letters[] = "n\nt\tr\rv\vf\fa\ab\b";
	int value = 0, digits = 0;
	if (*at == 'x') {
		for (at++; at < end && digits < 2 && hexadecimal(*at) >= 0; at++, digits++)
			value = value * 16 + hexadecimal(*at);
	} else if (*at >= '0' && *at <= '7') {
		for (; at < end && digits < 3 && *at >= '0' && *at <= '7'; at++, digits++)
			value = value * 8 + *at - '0';
	} else {
		value = *at;
		for (const char *letter = letters; *letter; letter += 2)
			value = *at == *letter ? letter[1] : value;
		at++;
	}
	*to = (char)value;
	return at;
}

long strace_string(struct strace_span s, char *to, size_t size)
{
	const char *at = s.text, *end = at + s.length;
	size_t used = 0;
	if (at == end || *at++ != '"')
		return -1;
	while (at < end && *at != '"') {
		if (used == size)
			return -1;
		if (*at != '\\')
			to[used++] = *at++;
		else if (++at < end)
			at = escape(at, end, &to[used++]);
	}
	/* A string that strace cut has "..." behind it. */
	return end - at == 1 ? (long)used : -1;
}

struct strace_span strace_annotation(struct strace_span s)
{
	const char *end = s.text + s.length, *open = memchr(s.text, '<', s.length);
	if (!open || open == s.text)
		return (struct strace_span){ end, 0 };
	const char *close = skip_annotation(open + 1, end);
	return close[-1] == '>' ? span(open + 1, close - 1) : (struct strace_span){ end, 0 };
}
