// SPDX-License-Identifier: MIT OR Apache-2.0
// Each thread writes pages of a file that lies in memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64 };

static int rounds;

static void *work(void *unused)
{
	static const char page[PAGE];
	int file = memfd_create("pages", 0);
	for (int i = 0; i < rounds; i++)
		if (pwrite(file, page, PAGE, i % PAGES * PAGE) != PAGE)
			abort();
	close(file);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	int count = argc > 1 ? atoi(argv[1]) : 1;
	rounds = argc > 2 ? atoi(argv[2]) : 100;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], 0);
}
