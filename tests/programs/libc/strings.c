/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every memory and string function does what a plain loop does, at every size and alignment. */
#define _GNU_SOURCE
#include "check.h"
#include <string.h>
#include <strings.h>

enum { ROOM = 400 };

static unsigned char from[ROOM], to[ROOM], want[ROOM];

/* Keeps the compiler from knowing sizes and results beforehand. */
static size_t opaque(size_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static void fill(void)
{
	for (int i = 0; i < ROOM; i++) {
		from[i] = (unsigned char)(i * 7 + 1) | 1;
		to[i] = want[i] = (unsigned char)(i * 13);
	}
}

static void same(void)
{
	for (int i = 0; i < ROOM; i++)
		CHECK(to[i] == want[i]);
}

static void copies(size_t at, size_t bytes)
{
	fill();
	for (size_t i = 0; i < bytes; i++)
		want[at + i] = from[i];
	CHECK(memcpy(to + at, from, opaque(bytes)) == to + at);
	same();
	fill();
	for (size_t i = 0; i < bytes; i++)
		want[at + i] = from[i];
	CHECK(mempcpy(to + at, from, opaque(bytes)) == to + at + bytes);
	same();
	fill();
	memcpy(want, to, ROOM);
	for (size_t i = 0; i < bytes; i++)
		want[at + i] = to[at + i + 3];
	CHECK(memmove(to + at, to + at + 3, opaque(bytes)) == to + at);
	same();
	fill();
	for (size_t i = 0; i < bytes; i++)
		want[at + i] = 0xa5;
	CHECK(memset(to + at, 0xa5, opaque(bytes)) == to + at);
	same();
	bzero(to + at, opaque(bytes));
	for (size_t i = 0; i < bytes; i++)
		want[at + i] = 0;
	same();
}

static void comparisons(size_t at, size_t bytes)
{
	memcpy(to + at, from, bytes);
	CHECK(memcmp(to + at, from, opaque(bytes)) == 0);
	CHECK(bcmp(to + at, from, opaque(bytes)) == 0);
	if (!bytes)
		return;
	to[at + bytes - 1]--;
	CHECK(memcmp(to + at, from, opaque(bytes)) < 0);
	CHECK(memcmp(from, to + at, opaque(bytes)) > 0);
	CHECK(memcmp(to + at, from, opaque(bytes - 1)) == 0);
}

static void searches(size_t at, size_t bytes)
{
	char *text = (char *)to + at;

	memset(text, 'x', bytes);
	text[bytes] = 0;
	CHECK(strlen(text) == bytes);
	CHECK(strnlen(text, opaque(bytes / 2)) == bytes / 2);
	CHECK(strchr(text, 'y') == NULL && strchr(text, 0) == text + bytes);
	CHECK(memchr(text, 'y', opaque(bytes)) == NULL);
	CHECK(strchrnul(text, 'y') == text + bytes && strrchr(text, 0) == text + bytes);
	CHECK(rawmemchr(text, 0) == text + bytes);
	if (bytes < 4)
		return;
	text[bytes / 2] = 'y';
	CHECK(strchr(text, 'y') == text + bytes / 2 && strrchr(text, 'y') == text + bytes / 2);
	CHECK(memchr(text, 'y', opaque(bytes)) == text + bytes / 2);
	CHECK(memrchr(text, 'y', opaque(bytes)) == text + bytes / 2);
	CHECK(strstr(text, "xy") == text + bytes / 2 - 1 && strstr(text, "yy") == NULL);
	CHECK(memmem(text, bytes, "yx", 2) == text + bytes / 2);
	CHECK(strspn(text, "x") == bytes / 2 && strcspn(text, "y") == bytes / 2);
	CHECK(strpbrk(text, "zy") == text + bytes / 2 && strpbrk(text, "z") == NULL);
}

static void strings(size_t at, size_t bytes)
{
	char text[ROOM], *copy = (char *)to + at;

	memset(text, 'b', opaque(bytes));
	text[bytes] = 0;
	CHECK(strcpy(copy, text) == copy && strcmp(copy, text) == 0);
	CHECK(stpcpy(copy, text) == copy + bytes);
	copy[bytes + 1] = '!';
	CHECK(strncpy(copy, text, opaque(bytes / 2)) == copy && copy[bytes + 1] == '!');
	CHECK(strncpy(copy, text, opaque(bytes + 2)) == copy && copy[bytes + 1] == 0);
	CHECK(strcat(copy, "cd") == copy && strcmp(copy + bytes, "cd") == 0);
	CHECK(strncat(copy, "efgh", opaque(2)) == copy && strcmp(copy + bytes, "cdef") == 0);
	CHECK(strcmp(copy, text) > 0 && strcmp(text, copy) < 0 && strncmp(copy, text, bytes) == 0);
	CHECK(strcasecmp("ABC", "abc") == 0 && strncasecmp("ABd", "abc", opaque(2)) == 0);
	char *twin = strdup(text), *half = strndup(text, opaque(bytes / 2));
	CHECK(twin && strcmp(twin, text) == 0);
	CHECK(half && strlen(half) == bytes / 2);
	free(twin);
	free(half);
}

int main(void)
{
	static const size_t sizes[] = { 0, 1, 3, 4, 7, 8, 15, 16, 31, 33, 63, 64, 65, 127, 128, 200, 300 };

	for (unsigned at = 0; at < 66; at += 5)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			copies(at, sizes[i]);
			comparisons(at, sizes[i]);
			searches(at, sizes[i]);
			strings(at, sizes[i]);
		}
	puts("strings are right");
	return 0;
}
