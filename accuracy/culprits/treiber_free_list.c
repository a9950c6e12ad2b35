/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A Treiber stack (IBM RJ 5118, 1986) as the free list of message buffers, with a tag against ABA: all threads take
// and return buffers with compare-and-swap on the one head. The twin: a list for each thread, as in the per-CPU
// layer of Bonwick and Adams' Magazines (USENIX 2001).
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PER_THREAD 2

struct buffer {
	_Alignas(64) _Atomic uint32_t next;	/* 1 + the next one's number, 0: none */
	uint32_t number;
	uint64_t digest, length;
};

struct free_list {
	_Alignas(128) _Atomic uint64_t head;	/* tag in the upper half, 1 + number in the lower */
};

struct sender {
	_Alignas(128) pthread_t id;
	long messages;
	uint64_t digest;
	struct free_list *list;
	int first;
};

static struct buffer *buffers;
static struct free_list shared_list;
static pthread_barrier_t start;

__attribute__((noinline)) static void buffer_free(struct free_list *list, struct buffer *buffer)
{
	uint64_t head = atomic_load(&list->head), wanted;

	do {
		atomic_store_explicit(&buffer->next, (uint32_t)head, memory_order_relaxed);
		wanted = ((head >> 32) + 1) << 32 | (buffer->number + 1);
	} while (!atomic_compare_exchange_weak(&list->head, &head, wanted));
}

__attribute__((noinline)) static struct buffer *buffer_alloc(struct free_list *list)
{
	uint64_t head = atomic_load(&list->head), wanted;
	struct buffer *buffer;

	do {
		if ((uint32_t)head == 0)
			return NULL;
		buffer = &buffers[(uint32_t)head - 1];
		wanted = ((head >> 32) + 1) << 32 | atomic_load_explicit(&buffer->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&list->head, &head, wanted));
	return buffer;
}

__attribute__((noinline)) static uint64_t compose(uint64_t seed)
{
	for (int i = 0; i < 24; i++)
		seed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15u;
	return seed;
}

static void *send_all(void *argument)
{
	struct sender *self = argument;
	uint64_t digest = 0;

#ifdef TWIN
	self->list = aligned_alloc(128, sizeof *self->list);
	atomic_init(&self->list->head, 0);
	for (int i = self->first; i < self->first + PER_THREAD; i++) {
		buffers[i].number = (uint32_t)i;
		buffer_free(self->list, &buffers[i]);
	}
#endif
	pthread_barrier_wait(&start);
	for (long i = 0; i < self->messages; i++) {
		uint64_t text = compose(digest + (uint64_t)i);
		struct buffer *buffer = buffer_alloc(self->list);

		buffer->length = 16;
		buffer->digest = text;
		digest += buffer->digest + buffer->length;
		buffer_free(self->list, buffer);
	}
	self->digest = digest;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000;
	struct sender *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	uint64_t digest = 0;

	buffers = aligned_alloc(128, (size_t)threads * PER_THREAD * sizeof *buffers);
#ifndef TWIN
	for (int i = 0; i < threads * PER_THREAD; i++) {
		buffers[i].number = (uint32_t)i;
		buffer_free(&shared_list, &buffers[i]);
	}
#endif
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		all[t].messages = work * (t + 1) / threads - work * t / threads;
		all[t].first = t * PER_THREAD;
		all[t].list = &shared_list;
		pthread_create(&all[t].id, NULL, send_all, &all[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		digest += all[t].digest;
	}
	printf("%ld messages, digest %016llx\n", work, (unsigned long long)digest);
	return work > 0 && digest == 0;
}
