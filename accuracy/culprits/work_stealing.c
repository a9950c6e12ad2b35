/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Chase-Lev deques of the workers side by side in one array, as in Julia's marking threads: top, bottom and array
 * take 24 bytes, so that each push and pop of a worker takes the line from its neighbours. All have the same work:
 * nobody steals. Twin: each deque has its own line. work_stealing THREADS TASKS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_WORKERS = 80, CAPACITY = 64 };

struct task {
	unsigned long seed;
	int depth;
};

typedef struct {
#ifdef TWIN
	_Alignas(64)
#endif
	_Atomic(int64_t) top;
	_Atomic(int64_t) bottom;
	struct task *array;
} ws_queue_t;

static ws_queue_t markqueues[MOST_WORKERS];
static long tasks;
static int workers;

static __attribute__((noinline)) void ws_queue_push(ws_queue_t *q, struct task t)
{
	int64_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed);

	q->array[b % CAPACITY] = t;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&q->bottom, b + 1, memory_order_relaxed);
}

static __attribute__((noinline)) int ws_queue_pop(ws_queue_t *q, struct task *t)
{
	int64_t b = atomic_load_explicit(&q->bottom, memory_order_relaxed) - 1, top;
	int found = 1;

	atomic_store_explicit(&q->bottom, b, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	top = atomic_load_explicit(&q->top, memory_order_relaxed);
	if (top <= b)
		*t = q->array[b % CAPACITY];
	if (top < b)
		return 1;
	if (top == b)
		found = atomic_compare_exchange_strong(&q->top, &top, top + 1);
	else
		found = 0;
	atomic_store_explicit(&q->bottom, b + 1, memory_order_relaxed);
	return found;
}

static unsigned long mark(const struct task *t)
{
	unsigned long hash = t->seed;

	for (int i = 0; i < 10; i++) {
		hash = hash * 6364136223846793005UL + 1442695040888963407UL;
		hash ^= hash >> 31;
	}
	return hash;
}

/* A task that is not a leaf leaves two more behind, until the worker has had its share. */
static void *worker(void *number)
{
	ws_queue_t *q = &markqueues[(long)number];
	long share = tasks * ((long)number + 1) / workers - tasks * (long)number / workers, done = 0;
	struct task t = { 1, 0 };

	q->array = aligned_alloc(64, CAPACITY * sizeof *q->array);
	while (done < share) {
		ws_queue_push(q, (struct task){ (unsigned long)done, 0 });
		while (done < share && ws_queue_pop(q, &t)) {
			unsigned long hash = mark(&t);

			done++;
			for (int child = 0; child < 2 && t.depth < 10; child++)
				ws_queue_push(q, (struct task){ hash + (unsigned long)child, t.depth + 1 });
		}
	}
	free(q->array);
	return (void *)done;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST_WORKERS];
	long sum = 0;

	workers = argc > 1 ? atoi(argv[1]) : 2;
	tasks = argc > 2 ? atol(argv[2]) : 100000;
	if (workers < 1 || workers > MOST_WORKERS)
		return 2;
	for (long i = 0; i < workers; i++)
		pthread_create(&thread[i], NULL, worker, (void *)i);
	for (int i = 0; i < workers; i++) {
		void *done;

		pthread_join(thread[i], &done);
		sum += (long)done;
	}
	printf("%ld tasks\n", sum);
	return sum != tasks;
}
