// SPDX-License-Identifier: MIT OR Apache-2.0
// Each thread maps memory, touches each page of it once, and unmaps it, again and again.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64 };

static int rounds;

static void *work(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		char *memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			abort();
		for (int page = 0; page < PAGES; page++)
			memory[page * PAGE] = 1;
		munmap(memory, PAGES * PAGE);
	}
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
	puts("done");
}
