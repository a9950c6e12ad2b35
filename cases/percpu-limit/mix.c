// SPDX-License-Identifier: MIT OR Apache-2.0
// A file system's accounting, as XFS did it in Linux 4.5, under the load of AIM7's disk jobs: small files are created,
// written, appended to and unlinked, and between the accounting calls there is work on data of the thread's own.
//   mix VARIANT LOAD THREADS OPERATIONS WORK
//   VARIANT   percpu    a per-CPU counter, as it was
//             limit     the same, global while it is small: the patch
//             adaptive  the kit's counter
//             ticket, queued  one count for all, under such a lock
//   LOAD      see `loads` below
//   WORK      cycles, about, between accounting calls
// In the lab it prints nothing; natively, the operations of all threads in a second. An operation of `mix` is a file.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_adaptive_counter.h>
#include <corefold/cf_percpu_counter.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NOINLINE __attribute__((noinline))

// XFS's numbers: the batch of free blocks, and the blocks a transaction may need at most.
enum { BLOCKS_BATCH = 1024, SET_ASIDE = 8, RESERVATION = 16, FILE_BLOCKS = 4, APPENDED_BLOCKS = 2 };

static const struct variant {
	const char *name;
	bool adaptive, limited, always_global;
	enum cf_lock_kind lock;
} variants[] = {
	{ "percpu", false, false, false, CF_LOCK_QUEUED }, { "limit", false, true, false, CF_LOCK_QUEUED },
	{ "adaptive", true, false, false, CF_LOCK_QUEUED }, { "ticket", false, true, true, CF_LOCK_TICKET },
	{ "queued", false, true, true, CF_LOCK_QUEUED },
};

struct account {
	struct cf_percpu_counter percpu CF_LINE_ALIGNED;
	struct cf_adaptive_counter adaptive CF_LINE_ALIGNED;
};

static const struct variant *variant;
static struct account free_blocks, free_inodes;
static pthread_barrier_t barrier;
static long operations, work, threads;
static int64_t blocks_at_start;

static int account_init(struct account *a, int64_t value, int64_t percpu_limit)
{
	const struct cf_percpu_options options = { 0, variant->always_global ? 1 : 0, variant->lock };
	int result;
	if (variant->adaptive)
		return cf_adaptive_counter_init(&a->adaptive, value, 0);
	result = cf_percpu_counter_init_with(&a->percpu, value, &options);
	if (result == 0 && variant->limited)
		result = cf_percpu_counter_set_limit(&a->percpu, variant->always_global ? CF_VALUE_MAX : percpu_limit);
	return result < 0 ? result : 0;
}

static int64_t account_sum(struct account *a)
{
	return variant->adaptive ? cf_adaptive_counter_sum(&a->adaptive) : cf_percpu_counter_sum(&a->percpu);
}

// A take is seen by all before it is known whether it may be: that is how XFS does it, and why it looks first whether
// the limit is near, where it folds at once.
static int percpu_take_blocks(int64_t blocks)
{
	struct cf_percpu_counter *c = &free_blocks.percpu;
	bool near = cf_percpu_counter_compare_batch(c, 2 * BLOCKS_BATCH, BLOCKS_BATCH) < 0;
	cf_percpu_counter_add_batch(c, -blocks, near ? 1 : BLOCKS_BATCH);
	if (cf_percpu_counter_compare_batch(c, SET_ASIDE, BLOCKS_BATCH) >= 0)
		return 0;
	cf_percpu_counter_add(c, blocks);
	return -ENOSPC;
}

static NOINLINE int take_blocks(int64_t blocks)
{
	if (variant->adaptive)
		return cf_adaptive_counter_limited_add(&free_blocks.adaptive, SET_ASIDE, -blocks);
	return percpu_take_blocks(blocks);
}

static NOINLINE void return_blocks(int64_t blocks)
{
	if (variant->adaptive)
		cf_adaptive_counter_add(&free_blocks.adaptive, blocks);
	else
		cf_percpu_counter_add(&free_blocks.percpu, blocks);
}

// XFS compares after every change, in either direction.
static NOINLINE int change_inodes(int64_t inodes)
{
	struct cf_percpu_counter *c = &free_inodes.percpu;
	if (variant->adaptive && inodes > 0)
		return cf_adaptive_counter_add(&free_inodes.adaptive, inodes);
	if (variant->adaptive)
		return cf_adaptive_counter_limited_add(&free_inodes.adaptive, 0, inodes);
	cf_percpu_counter_add(c, inodes);
	if (cf_percpu_counter_compare(c, 0) >= 0)
		return 0;
	cf_percpu_counter_add(c, -inodes);
	return -ENOSPC;
}

struct span {
	double begin, end;
	uint64_t random;
	int64_t kept; // blocks
	long done;
};

static void done(struct span *span)
{
	span->done++;
	CF_PROGRESS("operation");
}

#define STEP(r) ((r) = (r) * 6364136223846793005u + 1442695040888963407u)
#define STEPS_4(r) (STEP(r), STEP(r), STEP(r), STEP(r))
#define STEPS_32(r) (STEPS_4(r), STEPS_4(r), STEPS_4(r), STEPS_4(r), STEPS_4(r), STEPS_4(r), STEPS_4(r), STEPS_4(r))

// From half of `work` to one and a half, so that no two threads keep step.
static NOINLINE void do_work(struct span *span)
{
	enum { CYCLES = 32 * 4 };
	uint64_t random = span->random;
	long cycles = work ? work / 2 + (long)(random >> 33) % work : 0;
	for (; cycles > 0; cycles -= CYCLES)
		STEPS_32(random);
	span->random = STEP(random);
}

// One small file from its creation to its end: each step is a transaction that reserves what it may need at most and
// returns the rest.
static void one_file(struct span *span)
{
	int64_t kept = 0;
	do_work(span);
	if (take_blocks(RESERVATION) == 0) {
		if (change_inodes(-1))
			abort();
		return_blocks(RESERVATION);
	}
	do_work(span);
	if (take_blocks(FILE_BLOCKS) == 0)
		kept += FILE_BLOCKS;
	do_work(span);
	if (take_blocks(APPENDED_BLOCKS) == 0)
		kept += APPENDED_BLOCKS;
	do_work(span);
	if (take_blocks(RESERVATION) == 0) {
		change_inodes(1);
		return_blocks(RESERVATION + kept);
	}
	done(span);
}

static void mix(struct span *span)
{
	for (long i = 0; i < operations; i++)
		one_file(span);
}

// Sequential writes, each of one block that is allocated late.
static void writes(struct span *span)
{
	for (long i = 0; i < operations; i++) {
		do_work(span);
		if (take_blocks(1) == 0)
			span->kept++;
		done(span);
	}
}

// Writes, each of which frees as much again: the file system stays as full as it is.
static void steady(struct span *span)
{
	for (long i = 0; i < operations; i++) {
		do_work(span);
		if (take_blocks(1) == 0)
			return_blocks(1);
		done(span);
	}
}

// Writes until nothing is left.
static void fill(struct span *span)
{
	enum { EXTENT = 32 };
	for (;;) {
		do_work(span);
		if (take_blocks(EXTENT))
			return;
		span->kept += EXTENT;
		done(span);
	}
}

static void fill_and_drain(struct span *span)
{
	enum { EXTENT = 64 };
	for (long round = 0; round < operations; round++) {
		int64_t extents = blocks_at_start / threads / EXTENT, taken = 0;
		for (int64_t i = 0; i < extents; i++) {
			do_work(span);
			taken += take_blocks(EXTENT) == 0;
			done(span);
		}
		for (int64_t i = 0; i < taken; i++) {
			do_work(span);
			return_blocks(EXTENT);
			done(span);
		}
	}
}

// Free blocks: sums begin below 84,000 on 80 CPUs (the batch, and what is compared with); the patch's limit is 327,680.
static const struct load {
	const char *name;
	void (*run)(struct span *);
	int64_t blocks, inodes;
} loads[] = {
	{ "small", mix, 60000, 2000 },         // AIM7's mix where every comparison sums
	{ "smallest", mix, 20000, 2000 },
	{ "inodes", mix, 1 << 28, 2000 },      // only free inodes are few
	{ "writes", writes, 1LL << 36, 1 << 20 }, // large and empty
	{ "between", steady, 200000, 1 << 20 }, // the patch is global; nobody would need sums
	{ "fills", fill, 400000, 1 << 20 },    // begins above the limit of the patch
	{ "drains", fill_and_drain, 400000, 1 << 20 },
};
static const struct load *load;

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *thread(void *argument)
{
	struct span *span = argument;
	pthread_barrier_wait(&barrier);
	CF_REGION_BEGIN();
	span->begin = seconds();
	load->run(span);
	span->end = seconds();
	CF_REGION_END();
	return NULL;
}

static int run(void)
{
	pthread_t *ids = calloc((size_t)threads, sizeof *ids);
	struct span *spans = aligned_alloc(CF_LINE, (size_t)threads * CF_LINE);
	double begin = 1e300, end = 0;
	int64_t kept = 0, sum;
	long all = 0;
	for (long i = 0; i < threads; i++) {
		struct span *span = (struct span *)((char *)spans + i * CF_LINE);
		*span = (struct span){ .random = (uint64_t)i * 0x9e3779b97f4a7c15u };
		pthread_create(&ids[i], NULL, thread, span);
	}
	for (long i = 0; i < threads; i++) {
		struct span *span = (struct span *)((char *)spans + i * CF_LINE);
		pthread_join(ids[i], NULL);
		begin = span->begin < begin ? span->begin : begin;
		end = span->end > end ? span->end : end;
		kept += span->kept;
		all += span->done;
	}
	if (!CF_BUILT_SIMULATED)
		printf("throughput %.3f\n", (double)all / (end - begin));
	sum = account_sum(&free_blocks);
	if (sum == load->blocks - kept && account_sum(&free_inodes) == load->inodes)
		return 0;
	fprintf(stderr, "mix: %lld blocks are lost\n", (long long)(load->blocks - kept - sum));
	return 1;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 6 && i < COUNT(variants); i++)
		variant = strcmp(variants[i].name, argv[1]) ? variant : &variants[i];
	for (size_t i = 0; argc == 6 && i < COUNT(loads); i++)
		load = strcmp(loads[i].name, argv[2]) ? load : &loads[i];
	if (!variant || !load || atol(argv[3]) <= 0) {
		fprintf(stderr, "usage: mix VARIANT LOAD THREADS OPERATIONS WORK\n");
		return 2;
	}
	threads = atol(argv[3]);
	operations = atol(argv[4]);
	work = atol(argv[5]);
	blocks_at_start = load->blocks;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	if (account_init(&free_blocks, load->blocks, 4 * BLOCKS_BATCH) || account_init(&free_inodes, load->inodes, 0)) {
		fprintf(stderr, "mix: no memory for the counters\n");
		return 2;
	}
	return run();
}
