/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Vyukov's bounded multi-producer multi-consumer queue (1024cores.net), its cells on lines of their own as in
// rigtorp's MPMCQueue: all threads raise the two positions by compare-and-swap for each message.
// The twin: a queue for each thread.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 256

struct cell {
	_Alignas(64) atomic_size_t sequence;
	uint64_t data;
};

struct mpmc_queue {
	struct cell *buffer;
	_Alignas(128) atomic_size_t enqueue_pos;
	_Alignas(128) atomic_size_t dequeue_pos;
};

struct worker {
	_Alignas(128) pthread_t id;
	struct mpmc_queue *queue;
	long first, end;
	uint64_t sum, digest;
};

static pthread_barrier_t start;

static struct mpmc_queue *queue_new(void)
{
	struct mpmc_queue *queue = aligned_alloc(128, sizeof *queue);

	queue->buffer = aligned_alloc(64, CELLS * sizeof *queue->buffer);
	for (size_t i = 0; i < CELLS; i++)
		atomic_init(&queue->buffer[i].sequence, i);
	atomic_init(&queue->enqueue_pos, 0);
	atomic_init(&queue->dequeue_pos, 0);
	return queue;
}

// The cell whose turn it is at this position, which the caller has then taken; NULL if the queue is full or empty.
static inline struct cell *take(struct mpmc_queue *queue, atomic_size_t *position, size_t ready, size_t *taken)
{
	size_t pos = atomic_load_explicit(position, memory_order_relaxed);

	for (;;) {
		struct cell *cell = &queue->buffer[pos % CELLS];
		size_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);
		intptr_t difference = (intptr_t)sequence - (intptr_t)(pos + ready);

		if (difference == 0) {
			if (atomic_compare_exchange_weak_explicit(position, &pos, pos + 1, memory_order_relaxed,
								  memory_order_relaxed)) {
				*taken = pos;
				return cell;
			}
		} else if (difference < 0) {
			return NULL;
		} else {
			pos = atomic_load_explicit(position, memory_order_relaxed);
		}
	}
}

__attribute__((noinline)) static bool enqueue(struct mpmc_queue *queue, uint64_t data)
{
	size_t pos;
	struct cell *cell = take(queue, &queue->enqueue_pos, 0, &pos);

	if (!cell)
		return false;
	cell->data = data;
	atomic_store_explicit(&cell->sequence, pos + 1, memory_order_release);
	return true;
}

__attribute__((noinline)) static bool dequeue(struct mpmc_queue *queue, uint64_t *data)
{
	size_t pos;
	struct cell *cell = take(queue, &queue->dequeue_pos, 1, &pos);

	if (!cell)
		return false;
	*data = cell->data;
	atomic_store_explicit(&cell->sequence, pos + CELLS, memory_order_release);
	return true;
}

static void *run(void *argument)
{
	struct worker *self = argument;
	uint64_t data;

#ifdef TWIN
	self->queue = queue_new();
#endif
	pthread_barrier_wait(&start);
	for (long i = self->first; i < self->end; i++) {
		while (!enqueue(self->queue, (uint64_t)i))
			;
		while (!dequeue(self->queue, &data))
			;
		self->sum += data;
		data += self->digest;
		for (int step = 0; step < 24; step++)
			data = (data ^ data >> 31) * 0x9e3779b97f4a7c15u;
		self->digest ^= data;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2, work = argc > 2 ? atol(argv[2]) : 100000;
	struct worker *all = aligned_alloc(128, (size_t)threads * sizeof *all);
	struct mpmc_queue *queue = queue_new();
	uint64_t sum = 0, digest = 0;

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (long t = 0; t < threads; t++) {
		all[t] = (struct worker) { .queue = queue, .first = work * t / threads, .end = work * (t + 1) / threads };
		pthread_create(&all[t].id, NULL, run, &all[t]);
	}
	for (long t = 0; t < threads; t++) {
		pthread_join(all[t].id, NULL);
		sum += all[t].sum;
		digest ^= all[t].digest;
	}
	printf("sum %llu, digest %016llx\n", (unsigned long long)sum, (unsigned long long)digest);
	return sum != (uint64_t)work * (uint64_t)(work - 1) / 2;
}
