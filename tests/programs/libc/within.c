/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that block inside libc, where only another thread of the program can end the wait. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LARGE = 300000 };
static char bytes[LARGE];
static int ends[2];
static FILE *stream;

/* In pieces, the last of which end in the middle of a line and of a number. */
static void *fill(void *unused)
{
	const char *pieces[] = {"line one\nli", "ne two\n12 ", "34\n"};

	for (int i = 0; i < LARGE; i += 1000)
		CHECK(write(ends[1], bytes, 1000) == 1000);
	for (int i = 0; i < 3; i++) {
		usleep(1000);
		CHECK(write(ends[1], pieces[i], strlen(pieces[i])) == (ssize_t)strlen(pieces[i]));
	}
	close(ends[1]);
	return unused;
}

static void *drain(void *unused)
{
	long sum = 0;

	for (ssize_t got; (got = read(ends[0], bytes, 5000)) > 0;)
		sum += got;
	CHECK(sum == LARGE);
	return unused;
}

/* Waits for the lock of a stream that another thread waits inside of. */
static void *look(void *unused)
{
	CHECK(!ferror(stream));
	return unused;
}

static void *take(void *fd)
{
	uint64_t value;

	usleep(100);
	CHECK(read(*(int *)fd, &value, sizeof value) == sizeof value && value == UINT64_MAX - 1);
	return NULL;
}

int main(void)
{
	pthread_t thread, looker;
	char line[64];
	int a, b, full = eventfd(0, 0);
	uint64_t most = UINT64_MAX - 1, more = 7;

	CHECK(pipe(ends) == 0 && (stream = fdopen(ends[0], "r")) != NULL);
	CHECK(pthread_create(&thread, NULL, fill, NULL) == 0);
	CHECK(pthread_create(&looker, NULL, look, NULL) == 0);
	CHECK(fread(bytes, 1, LARGE, stream) == LARGE);
	CHECK(fgets(line, sizeof line, stream) && !strcmp(line, "line one\n"));
	CHECK(fgets(line, sizeof line, stream) && !strcmp(line, "line two\n"));
	CHECK(fscanf(stream, "%d %d", &a, &b) == 2 && a == 12 && b == 34);
	pthread_join(thread, NULL);
	pthread_join(looker, NULL);
	fclose(stream);

	CHECK(pipe(ends) == 0 && (stream = fdopen(ends[1], "w")) != NULL);
	CHECK(pthread_create(&thread, NULL, drain, NULL) == 0);
	CHECK(fwrite(bytes, 1, LARGE, stream) == LARGE && fclose(stream) == 0);
	pthread_join(thread, NULL);

	CHECK(write(full, &most, sizeof most) == sizeof most);
	CHECK(pthread_create(&thread, NULL, take, &full) == 0);
	CHECK(write(full, &more, sizeof more) == sizeof more);
	pthread_join(thread, NULL);
	puts("within");
	return 0;
}
