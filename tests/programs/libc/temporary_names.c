/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tempnam: a name in the folder that is asked for, or another, which no file has. */
#include "check.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static int begins(char *name, const char *with)
{
	int does = name && !strncmp(name, with, strlen(with)) && strlen(name) == strlen(with) + 6;

	CHECK(name && access(name, F_OK) == -1 && errno == ENOENT);
	free(name);
	return does;
}

int main(void)
{
	char folder[] = "/tmp/names-XXXXXX", path[64];

	CHECK(unsetenv("TMPDIR") == 0 && mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/long-", folder);
	CHECK(begins(tempnam(folder, "long-prefix"), path));
	snprintf(path, sizeof(path), "%s/file", folder);
	CHECK(begins(tempnam(folder, NULL), path));
	CHECK(begins(tempnam("/no/such/folder", "a"), "/tmp/a") && begins(tempnam(NULL, "b"), "/tmp/b"));
	CHECK(setenv("TMPDIR", folder, 1) == 0);
	snprintf(path, sizeof(path), "%s/c", folder);
	CHECK(begins(tempnam("/", "c"), path));
	CHECK(rmdir(folder) == 0);
	puts("temporary names are right");
	return 0;
}
