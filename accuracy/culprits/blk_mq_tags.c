/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Request tags of a block device in a bitmap, as in Linux' blk-mq, without the per-queue hint: every thread searches
// for a free tag from the first word, so all set and clear bits of the same word.
// The twin follows commit 4bb659b15699: each queue remembers its last tag, and starts in a cache line of its own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 128

struct blk_align_bitmap {
	_Alignas(128) atomic_ulong word;
	unsigned long depth;
};

struct blk_mq_bitmap_tags {
	unsigned nr_words;
	struct blk_align_bitmap *map;
};

struct blk_mq_ctx {
	_Alignas(128) pthread_t id;
	unsigned last_tag;
	long requests;
	uint64_t sectors;
};

static struct blk_mq_bitmap_tags *bitmap_tags;
static pthread_barrier_t start;

__attribute__((noinline)) static unsigned bt_get(struct blk_mq_bitmap_tags *bt, unsigned hint)
{
	for (unsigned index = hint / 64;; index = (index + 1) % bt->nr_words) {
		struct blk_align_bitmap *bm = &bt->map[index];
		unsigned long word = atomic_load_explicit(&bm->word, memory_order_relaxed);

		while (~word) {
			unsigned bit = (unsigned)__builtin_ctzl(~word);

			word = atomic_fetch_or(&bm->word, 1ul << bit);
			if (!(word >> bit & 1))
				return index * 64 + bit;
		}
	}
}

__attribute__((noinline)) static void bt_clear_tag(struct blk_mq_bitmap_tags *bt, unsigned tag)
{
	atomic_fetch_and(&bt->map[tag / 64].word, ~(1ul << tag % 64));
}

__attribute__((noinline)) static uint64_t issue(uint64_t sector)
{
	for (int i = 0; i < 24; i++)
		sector = (sector ^ sector >> 31) * 0x9e3779b97f4a7c15u;
	return sector & 0xff;
}

static void *submit(void *argument)
{
	struct blk_mq_ctx *ctx = argument;

	pthread_barrier_wait(&start);
	for (long i = 0; i < ctx->requests; i++) {
		unsigned tag = bt_get(bitmap_tags, ctx->last_tag);

		ctx->sectors += issue(ctx->sectors + (uint64_t)i);
#ifdef TWIN
		ctx->last_tag = tag;
#endif
		bt_clear_tag(bitmap_tags, tag);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct blk_mq_ctx *queues = aligned_alloc(128, (size_t)threads * sizeof *queues);
	uint64_t sectors = 0;
	unsigned long busy = 0;

	bitmap_tags = malloc(sizeof *bitmap_tags);
	bitmap_tags->nr_words = WORDS;
	bitmap_tags->map = aligned_alloc(128, WORDS * sizeof *bitmap_tags->map);
	for (int i = 0; i < WORDS; i++)
		bitmap_tags->map[i] = (struct blk_align_bitmap) { .depth = 64 };
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		queues[t] = (struct blk_mq_ctx) { .requests = work * (t + 1) / threads - work * t / threads };
#ifdef TWIN
		queues[t].last_tag = (unsigned)t % WORDS * 64;
#endif
		pthread_create(&queues[t].id, NULL, submit, &queues[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(queues[t].id, NULL);
		sectors += queues[t].sectors;
	}
	for (int i = 0; i < WORDS; i++)
		busy |= atomic_load(&bitmap_tags->map[i].word);
	printf("%llu sectors, busy tags %lx\n", (unsigned long long)sectors, busy);
	return busy != 0;
}
