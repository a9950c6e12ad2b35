// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads begin and end, whose blocks libc frees under a lock of its own and the loader's, while another loads libraries
// whose thread-local storage is static, which takes the same lock: static_tls LIBRARY...
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAKERS = 8, ROUNDS = 20, KEPT = 40 };

static void *objects[MAKERS][KEPT];

/* What ends here was taken by others: freeing it, and all that the thread's end frees, takes a lock of the heap. */
static void *end(void *me)
{
	for (int i = 0; i < KEPT; i++)
		free(((void **)me)[i]);
	return NULL;
}

static void *make(void *me)
{
	pthread_t thread;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KEPT; i++)
			((void **)me)[i] = malloc(300);
		if (pthread_create(&thread, NULL, end, me))
			exit(2);
		pthread_join(thread, NULL);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t makers[MAKERS];
	int loaded = 0;

	for (long i = 0; i < MAKERS; i++)
		pthread_create(&makers[i], NULL, make, objects[i]);
	for (int i = 1; i < count; i++) {
		int (*value)(void);
		void *library = dlopen(arguments[i], RTLD_NOW);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			continue;
		}
		value = (int (*)(void))dlsym(library, "value");
		loaded += value() == 5;
	}
	for (int i = 0; i < MAKERS; i++)
		pthread_join(makers[i], NULL);
	printf("%d loaded\n", loaded);
	return 0;
}
