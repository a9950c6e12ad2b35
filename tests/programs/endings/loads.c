/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* loads LIBRARY LIBRARY: four threads load them at the same time, use them and close them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **names;
static long results[4];

static void *load(void *argument)
{
	long i = (long)argument;
	void *library = dlopen(names[i % 2], RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	long (*work)(long) = (long (*)(long))dlsym(library, "work");
	results[i] = work(i);
	usleep(100);
	dlclose(library);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	if (argc < 3)
		return 2;
	names = argv + 1;
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, load, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld %ld %ld\n", results[0], results[1], results[2], results[3]);
	return 0;
}
