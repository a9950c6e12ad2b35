/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every thread counts in a structure of its own; all read one that nobody writes by then. -DSHIFTED puts a field
 * before the others of both: all lie eight bytes further on, and no line has more users for that. Threads begin by
 * turns of one word or at a barrier, as a program has them that marks no region: own_structs THREADS ROUNDS spin|barrier
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef SHIFTED
#define ADDED long added;
#else
#define ADDED
#endif
#define MOST 1024
#define WORDS 30

static struct {
	ADDED
	long step, mask, rounds, spins;
} settings __attribute__((aligned(64)));

struct own {
	ADDED
	volatile long count, last, words[WORDS];
};

static pthread_barrier_t barrier;
static _Alignas(64) atomic_int go;

static void work(void)
{
	struct own *own = aligned_alloc(64, (sizeof *own + 63) / 64 * 64);

	if (!own)
		exit(4);
	own->count = own->last = 0;
	for (long round = 0; round < settings.rounds; round++)
		for (long i = 0; i < WORDS; i++) {
			own->words[i] = (own->last + i * settings.step) & settings.mask;
			own->count++;
		}
	free(own);
}

static void *thread_main(void *unused)
{
	if (settings.spins)
		while (!atomic_load(&go))
			__builtin_ia32_pause();
	else
		pthread_barrier_wait(&barrier);
	work();
	return unused;
}

int main(int argc, char **argv)
{
	static pthread_t others[MOST];
	int threads = argc == 4 ? atoi(argv[1]) : 0;

	if (threads < 1 || threads > MOST)
		return 2;
	settings.step = 3;
	settings.mask = 0xffff;
	settings.rounds = atol(argv[2]);
	settings.spins = argv[3][0] == 's';
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, thread_main, NULL))
			return 3;
	atomic_store(&go, 1);
	thread_main(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
