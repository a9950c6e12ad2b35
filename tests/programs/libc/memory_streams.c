// SPDX-License-Identifier: MIT OR Apache-2.0
/* Streams over memory have no descriptor: what libc left in their field for one is nobody's, not descriptor 0. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { LINES = 200 };

static FILE *text;

static void *writes(void *argument)
{
	for (int i = 0; i < LINES; i++)
		CHECK(fprintf(text, "a line\n") == 7);
	return argument;
}

static void *reads(void *argument)
{
	char byte;

	CHECK(read(0, &byte, 1) == 1 && byte == 'x');
	return argument;
}

int main(void)
{
	char *bytes;
	wchar_t *wide;
	size_t size;
	int ends[2];
	pthread_t reader, writers[2];

	/* Descriptor 0 is the end of a pipe that is never ready to be written to. */
	close(0);
	CHECK(pipe(ends) == 0 && ends[0] == 0);
	pthread_create(&reader, NULL, reads, NULL);
	text = open_memstream(&bytes, &size);
	for (int i = 0; i < 2; i++)
		pthread_create(&writers[i], NULL, writes, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	CHECK(fclose(text) == 0 && size == 2 * LINES * strlen("a line\n"));
	text = open_wmemstream(&wide, &size);
	CHECK(fputws(L"wide", text) >= 0 && fclose(text) == 0 && size == 4);
	CHECK(write(ends[1], "x", 1) == 1);
	pthread_join(reader, NULL);
	free(bytes);
	free(wide);
	puts("streams over memory have no descriptor");
	return 0;
}
