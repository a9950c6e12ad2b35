// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests for memory by many threads, each the same number: arenas HOW THREADS SIZE
// HOW: "own" frees what it took itself, at once; "one" does so with a single arena; "others" frees what main took before.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 2000, OWN_TURNS = 20000, MOST = 64 };

static void *objects[MOST][TURNS];
static size_t bytes;

static void *own(void *me)
{
	for (int i = 0; i < OWN_TURNS; i++) {
		volatile char *object = malloc(bytes);

		*object = 1;
		free((void *)object);
	}
	return me;
}

static void *others(void *me)
{
	void **mine = me;

	for (int i = 0; i < TURNS; i++)
		free(mine[i]);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[MOST];
	int most = count > 2 ? atoi(arguments[2]) : 1;
	int of_others = !strcmp(arguments[1], "others");

	bytes = strtoul(arguments[3], NULL, 10);
	if (!strcmp(arguments[1], "one") && !mallopt(M_ARENA_MAX, 1))
		return 1;
	for (int i = 0; of_others && i < most * TURNS; i++)
		objects[i % most][i / most] = malloc(bytes);
	for (int i = 0; i < most; i++)
		pthread_create(&threads[i], NULL, of_others ? others : own, objects[i]);
	for (int i = 0; i < most; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
