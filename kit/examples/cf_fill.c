// SPDX-License-Identifier: MIT OR Apache-2.0
// Fills a file system's space accounts from all CPUs until ENOSPC, drains them, and fills them again, with each kind of
// counter under them; prints how many blocks a second each kind sells. Copy it.
//   cf_fill [BLOCKS [ROUNDS]]
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_space.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef __COREFOLD__
#include <corefold.h>
#else
#define COREFOLD_PROGRESS(name) ((void)0)
#endif

static struct cf_space space;
static pthread_barrier_t barrier;
static int rounds;
static double begun;

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// One writer: files of 1 to 8 blocks, reserved at their largest and cut to size when they are written.
static int64_t fill(unsigned *seed)
{
	int64_t kept = 0;
	for (;;) {
		struct cf_space_reservation r;
		int64_t size = 1 + rand_r(seed) % 8;
		// Near the end large files no longer fit, and small ones still do.
		if (cf_space_reserve(&space, &r, 8, 0, 0) && cf_space_reserve(&space, &r, size, 0, 0) &&
		    cf_space_reserve(&space, &r, size = 1, 0, 0))
			return kept;
		cf_space_reservation_use(&r, size, 0);
		cf_space_reservation_end(&r);
		kept += size;
		COREFOLD_PROGRESS("file");
	}
}

static void *writer(void *sold)
{
	unsigned seed = (unsigned)(uintptr_t)sold;
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		begun = seconds();
	for (int round = 0; round < rounds; round++) {
		int64_t kept = fill(&seed);
		*(int64_t *)sold += kept;
		pthread_barrier_wait(&barrier); // full
		for (; kept > 0; kept -= kept < 4 ? kept : 4)
			cf_space_return_blocks(&space, kept < 4 ? kept : 4);
		pthread_barrier_wait(&barrier); // empty
	}
	return NULL;
}

// Blocks sold in a microsecond; below 0 if one was sold twice, or not at all.
static double run(enum cf_counter_kind kind, int64_t blocks, int cpus)
{
	struct cf_space_options options = { .kind = kind, .blocks = blocks, .block_counter.many_cpus = 1 };
	struct cf_space_usage usage;
	pthread_t threads[cpus];
	int64_t sold[cpus], all = 0;
	double took;
	if (cf_space_init(&space, &options))
		return -1;
	pthread_barrier_init(&barrier, NULL, (unsigned)cpus);
	for (int i = 0; i < cpus; i++) {
		sold[i] = 0;
		pthread_create(&threads[i], NULL, writer, &sold[i]);
	}
	for (int i = 0; i < cpus; i++) {
		pthread_join(threads[i], NULL);
		all += sold[i];
	}
	took = seconds() - begun;
	cf_space_usage(&space, &usage);
	cf_space_destroy(&space);
	pthread_barrier_destroy(&barrier);
	return all == blocks * rounds && usage.free_blocks == blocks ? (double)all / took / 1e6 : -1;
}

int main(int argc, char **argv)
{
	int64_t blocks = argc > 1 ? atoll(argv[1]) : 1000000;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), wrong = 0;
	rounds = argc > 2 ? atoi(argv[2]) : 3;
	if (blocks <= 0 || rounds <= 0 || cpus <= 0) {
		fprintf(stderr, "usage: cf_fill [BLOCKS [ROUNDS]]\n");
		return 2;
	}
	printf("%lld blocks, filled and drained %d times from %d CPUs\n", (long long)blocks, rounds, cpus);
	for (int kind = 0; kind < CF_COUNTER_KINDS; kind++) {
		double rate = run((enum cf_counter_kind)kind, blocks, cpus);
		printf("  %-9s %8.2f million blocks/s%s\n", cf_counter_kind_name((enum cf_counter_kind)kind), rate,
		       rate < 0 ? "  WRONG" : "");
		wrong |= rate < 0;
	}
	return wrong;
}
