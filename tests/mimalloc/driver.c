/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that allocate and free through mimalloc, as servers do:
 *
 *   driver THREADS [MODE [ROUNDS [BLOCKS]]]
 *
 * In each round a thread allocates BLOCKS blocks of many sizes, fills them, frees some, and puts the others
 * on a shelf; then it checks and frees what lies on its own. MODE says whose shelf it is:
 *   own     its own: every block is freed by the thread that allocated it
 *   next    the next thread's: what it frees, its neighbour allocated
 *   deal    the main thread alone allocates, before all else, and deals them out: all threads free blocks
 *           of the same pages at the same time
 *
 * Nothing may be lost, twice there, or changed. What is printed depends on the arguments alone.
 */
#include <corefold.h>
#include <mimalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 1024
#define LARGEST 1024

/* A block starts with this; the rest of it holds the low byte of `mark`. */
struct block {
	struct block *next;
	uint64_t mark;
	size_t size;
};

/* Blocks that wait for whoever frees them; a line of its own. */
struct shelf {
	_Alignas(128) _Atomic(struct block *) top;
};

struct tally {
	_Alignas(128) uint64_t blocks;
	uint64_t bytes;
	uint64_t sum;
};

static struct {
	unsigned threads;
	const char *mode;
	unsigned rounds;
	unsigned blocks;
} options;

static struct shelf shelves[MOST_THREADS];
static struct tally made[MOST_THREADS], freed[MOST_THREADS];
static pthread_barrier_t ready;
static atomic_uint working;

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static void wrong(const char *what)
{
	fprintf(stderr, "wrong: %s\n", what);
	exit(1);
}

static void count(struct tally *tally, const struct block *block)
{
	tally->blocks++;
	tally->bytes += block->size;
	tally->sum += block->mark;
}

/* Small ones are more frequent than large ones. */
static struct block *allocate(uint64_t *random, struct tally *tally)
{
	uint64_t drawn = mixed(*random += 0x9e3779b97f4a7c15);
	size_t size = sizeof(struct block) + drawn % (LARGEST >> (drawn >> 32) % 6);
	struct block *block = mi_malloc(size);

	if (!block || mi_usable_size(block) < size)
		wrong("no block, or too small a one");
	*block = (struct block){ NULL, drawn, size };
	memset(block + 1, (int)(drawn & 0xff), size - sizeof(*block));
	count(tally, block);
	return block;
}

static void check_and_free(struct block *block, struct tally *tally)
{
	const unsigned char *rest = (const unsigned char *)(block + 1);
	size_t length = block->size - sizeof(*block);

	if (length && (rest[0] != (block->mark & 0xff) || memcmp(rest, rest + 1, length - 1)))
		wrong("a block has changed");
	count(tally, block);
	mi_free(block);
}

static void shelve(struct shelf *shelf, struct block *block)
{
	block->next = atomic_load_explicit(&shelf->top, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&shelf->top, &block->next, block))
		;
}

/* All that lies on it at once: so there is no ABA. */
static void clear(struct shelf *shelf, struct tally *tally)
{
	struct block *block = atomic_exchange(&shelf->top, NULL), *next;

	for (; block; block = next) {
		next = block->next;
		check_and_free(block, tally);
	}
}

static void work(unsigned thread)
{
	unsigned other = strcmp(options.mode, "next") ? thread : (thread + 1) % options.threads;
	uint64_t random = (uint64_t)(thread + 1) << 32;

	for (unsigned round = 0; round < options.rounds; round++) {
		for (unsigned i = 0; i < options.blocks; i++) {
			struct block *block = allocate(&random, &made[thread]);
			if (block->mark >> 63)
				shelve(&shelves[other], block);
			else
				check_and_free(block, &freed[thread]);
		}
		clear(&shelves[thread], &freed[thread]);
		COREFOLD_PROGRESS("round");
	}
}

static void deal(void)
{
	uint64_t random = 0;

	for (unsigned i = 0; i < options.blocks; i++)
		for (unsigned thread = 0; thread < options.threads; thread++)
			shelve(&shelves[thread], allocate(&random, &made[0]));
}

static void *worker(void *number)
{
	unsigned thread = (unsigned)(uintptr_t)number;

	pthread_barrier_wait(&ready); /* all are here */
	pthread_barrier_wait(&ready); /* and go */
	if (strcmp(options.mode, "deal")) {
		work(thread);
	} else {
		clear(&shelves[thread], &freed[thread]);
		COREFOLD_PROGRESS("round");
	}
	if (atomic_fetch_sub(&working, 1) == 1)
		COREFOLD_END();
	return NULL;
}

static void run(void)
{
	static pthread_t threads[MOST_THREADS];

	atomic_init(&working, options.threads);
	pthread_barrier_init(&ready, NULL, options.threads + 1);
	for (unsigned i = 0; i < options.threads; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)i))
			wrong("no thread");
	if (!strcmp(options.mode, "deal"))
		deal();
	pthread_barrier_wait(&ready);
	COREFOLD_BEGIN();
	pthread_barrier_wait(&ready);
	for (unsigned i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&ready);
}

static struct tally sum_of(const struct tally *tallies)
{
	struct tally all = { 0 };

	for (unsigned i = 0; i < options.threads; i++) {
		all.blocks += tallies[i].blocks;
		all.bytes += tallies[i].bytes;
		all.sum += tallies[i].sum;
	}
	return all;
}

int main(int argc, char **argv)
{
	options.threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	options.mode = argc > 2 ? argv[2] : "next";
	options.rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
	options.blocks = argc > 4 ? (unsigned)atoi(argv[4]) : 100;
	if (options.threads < 1 || options.threads > MOST_THREADS ||
	    (strcmp(options.mode, "own") && strcmp(options.mode, "next") && strcmp(options.mode, "deal"))) {
		fputs("usage: driver THREADS [own|next|deal [ROUNDS [BLOCKS]]]\n", stderr);
		return 2;
	}
	run();
	for (unsigned i = 0; i < options.threads; i++)
		clear(&shelves[i], &freed[0]);
	struct tally in = sum_of(made), out = sum_of(freed);
	if (in.blocks != out.blocks || in.bytes != out.bytes || in.sum != out.sum)
		wrong("blocks were lost, or freed twice");
	printf("%u threads, %s: %llu blocks, %llu bytes, checksum %016llx\n", options.threads, options.mode,
	       (unsigned long long)in.blocks, (unsigned long long)in.bytes, (unsigned long long)in.sum);
	return 0;
}
