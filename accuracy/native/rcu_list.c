/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Readers walk a list of 16; thread 0 replaces an element every 64th operation, and reuses it much later.
#include "../workload.h"

enum { LENGTH = 16, SPARE = 4096 };
struct element {
	_Alignas(64) _Atomic(struct element *) next;
	long value;
};
static struct element element[LENGTH + SPARE];
static _Atomic(struct element *) first;
static volatile long sum_seen[MOST_THREADS][16];

static void prepare(int threads)
{
	(void)threads;
	for (int i = 0; i < LENGTH; i++) {
		element[i].value = i;
		atomic_init(&element[i].next, i + 1 < LENGTH ? &element[i + 1] : NULL);
	}
	atomic_init(&first, &element[0]);
}

static void replace(void)
{
	static int spare;
	struct element *new = &element[LENGTH + spare++ % SPARE], *old = atomic_load(&first);

	new->value = old->value + 1;
	atomic_store_explicit(&new->next, atomic_load(&old->next), memory_order_relaxed);
	atomic_store_explicit(&first, new, memory_order_release);
}

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		long sum = 0;

		if (thread == 0 && i % 64 == 0)
			replace();
		for (struct element *e = atomic_load_explicit(&first, memory_order_consume); e;
		     e = atomic_load_explicit(&e->next, memory_order_consume))
			sum += e->value;
		sum_seen[thread][0] = sum;
	}
}
