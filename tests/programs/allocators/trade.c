// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that begin and end together, and hand each other the objects that they allocate: trade THREADS ROUNDS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, OBJECTS = 60 };

static pthread_barrier_t barrier;
static unsigned char *boxes[MOST];
static long threads, wrong;

static void give(long box, unsigned char *object)
{
	unsigned char *old = __atomic_exchange_n(&boxes[box], object, __ATOMIC_ACQ_REL);

	if (old && old[0] != old[1])
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	free(old);
}

static void *work(void *argument)
{
	long me = (long)argument;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < OBJECTS; i++) {
		size_t bytes = 16 + (me * 37 + i * 113) % 3000;
		unsigned char *object = malloc(bytes);

		memset(object, (int)me, bytes);
		if (i % 7 == 0)
			object = realloc(object, bytes * 3);
		if (i % 20 == 0) {
			unsigned char *large = aligned_alloc(1 << 16, 1 << 18);

			memset(large, (int)me, 1 << 10);
			free(large);
		}
		if (i % 9 == 0) {
			free(object);
			object = (unsigned char *)strdup("aa, which libc copies");
		}
		give((me + i) % threads, object);
	}
	/* libc frees this as the thread ends. */
	strerror(100000 + (int)me);
	pthread_barrier_wait(&barrier);
	return argument;
}

int main(int count, char **arguments)
{
	pthread_t all[MOST];
	int rounds = count > 2 ? atoi(arguments[2]) : 1;

	threads = count > 1 ? atoi(arguments[1]) : 1;
	pthread_barrier_init(&barrier, NULL, threads);
	while (rounds--) {
		for (long i = 0; i < threads; i++)
			pthread_create(&all[i], NULL, work, (void *)i);
		for (long i = 0; i < threads; i++)
			pthread_join(all[i], NULL);
	}
	for (long i = 0; i < threads; i++)
		give(i, NULL);
	printf("%ld objects, %ld wrong\n", threads * OBJECTS, wrong);
	return 0;
}
