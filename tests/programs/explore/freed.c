// SPDX-License-Identifier: MIT OR Apache-2.0
/* Uses an object after it was freed, in the way it is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thing {
	int first, second;
	char rest[16];
};

static volatile int sink;
static volatile size_t bytes = sizeof(struct thing);

static __attribute__((noinline)) void release(struct thing *thing)
{
	free(thing);
}

int main(int argc, char **argv)
{
	struct thing *volatile thing = calloc(1, sizeof(struct thing));
	struct thing copy;
	const char *how = argc > 1 ? argv[1] : "none";

	release(thing);
	if (strcmp(how, "read") == 0)
		sink = thing->second;
	if (strcmp(how, "write") == 0)
		thing->second = 1;
	if (strcmp(how, "copy") == 0) {
		memcpy(&copy, thing, bytes);
		sink = copy.first;
	}
	if (strcmp(how, "twice") == 0)
		free(thing);
	thing = malloc(sizeof(struct thing));
	thing->second = 1;
	sink = thing->second;
	release(thing);
	return 0;
}
