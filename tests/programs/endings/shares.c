/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One thread writes to a file by calls, another reads the mapping of it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 2000, PLACE = 4096 + 128 };

static int file, plain;
static volatile long sink;

static void *writes(void *unused)
{
	for (long i = 0; i < ROUNDS; i++) {
		if (plain) {
			lseek(file, PLACE, SEEK_SET);
			if (write(file, &i, sizeof(i)) != sizeof(i))
				abort();
		} else if (pwrite(file, &i, sizeof(i), PLACE) != sizeof(i)) {
			abort();
		}
	}
	return unused;
}

static void *reads(void *map)
{
	const volatile long *place = (const volatile long *)((char *)map + PLACE);
	long last = 0;

	for (int i = 0; i < 100 * ROUNDS; i++)
		last += *place;
	sink = last;
	return NULL;
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/corefold-shares-XXXXXX";
	pthread_t thread[2];
	void *map;

	plain = argc > 1 && !strcmp(argv[1], "write");
	file = mkstemp(name);
	unlink(name);
	if (ftruncate(file, 16384))
		return 1;
	map = mmap(NULL, 16384, PROT_READ, MAP_SHARED, file, 0);
	pthread_create(&thread[0], NULL, writes, NULL);
	pthread_create(&thread[1], NULL, reads, map);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	return 0;
}
