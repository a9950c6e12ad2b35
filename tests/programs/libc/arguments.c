/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arguments and the environment are where they should be. The time it takes to read them depends on the
 * lines that they lie on, and so on where they are: another variable in the environment changes nothing.
 */
#define _GNU_SOURCE
#include "check.h"
#include <string.h>
#include <unistd.h>

static volatile unsigned sum;

static void read_all(const char *text)
{
	for (int i = 0; text[i]; i++)
		sum = sum * 31 + (unsigned char)text[i];
}

int main(int argc, char **argv, char **env)
{
	CHECK(argc >= 1 && argv[argc] == NULL && env == environ);
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < argc; i++)
			read_all(argv[i]);
	const char *path = getenv("PATH");
	CHECK(path);
	for (int round = 0; round < 10; round++)
		read_all(path);
	puts("arguments are right");
	return 0;
}
