// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads share out 64 blocks, and have each summed up by code that may have no hooks.
#include "checksum.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 64, BYTES = 16 << 10 };

static unsigned char data[BLOCKS][BYTES];
static unsigned long sums[BLOCKS];
static atomic_int next;
static unsigned rounds;

static void *work(void *unused)
{
	for (int block; (block = atomic_fetch_add(&next, 1)) < BLOCKS;)
		sums[block] = checksum(data[block], BYTES, rounds);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	int count = argc > 1 ? atoi(argv[1]) : 1;
	rounds = argc > 2 ? atoi(argv[2]) : 1;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], 0, work, 0);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], 0);
	unsigned long all = 0;
	for (int block = 0; block < BLOCKS; block++)
		all = all * 7 + sums[block];
	printf("%lu\n", all);
}
