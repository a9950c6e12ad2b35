/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Objects of 592 bytes that an own allocator packs: where each begins on a line, its number decides.
 *
 * slab THREADS NUMBER...: half of the threads count in `sent`, half in `received`, 24 bytes further, of objects with these
 * numbers in turn. Of four places on a line, the two fields share one in three.
 */
#include <corefold.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64, ROUNDS = 4000, OBJECTS = 55 };

struct node {
	_Atomic long sent;
	char gap[16];
	_Atomic long received;
	char rest[592 - 32];
};
_Static_assert(sizeof(struct node) == 592, "55 in a slab of 32 KiB");

static _Alignas(4096) struct node slab[OBJECTS];
static pthread_barrier_t begin;
static char **numbers;
static int count;

static void *work(void *number)
{
	long thread = (long)number;
	struct node *node = &slab[atoi(numbers[thread / 2 % count])];
	_Atomic long *mine = thread % 2 ? &node->received : &node->sent;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++)
		atomic_fetch_add(mine, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? atol(argv[1]) : 0, sum = 0;
	pthread_t thread[MOST];

	if (threads < 1 || threads > MOST)
		return 2;
	numbers = argv + 2;
	count = argc - 2;
	COREFOLD_OBJECTS(slab, sizeof slab, sizeof *slab, "node");
	pthread_barrier_init(&begin, NULL, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < OBJECTS; i++)
		sum += slab[i].sent + slab[i].received;
	return sum != threads * ROUNDS;
}
