/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A lock-free stack: push a node of one's own, pop one. The head carries a count against reuse.
#include "../workload.h"

struct node { _Alignas(64) uint32_t next; };
static struct node node[2 * MOST_THREADS + 1];
static _Alignas(128) _Atomic uint64_t head;
static _Alignas(128) struct { uint32_t node; char rest[124]; } own[MOST_THREADS];

static void prepare(int threads)
{
	for (int t = 0; t < threads; t++)
		own[t].node = (uint32_t)t + 1;
}

static void push(uint32_t mine)
{
	uint64_t old = atomic_load_explicit(&head, memory_order_relaxed), new;

	do {
		*(volatile uint32_t *)&node[mine].next = (uint32_t)old;
		new = ((old >> 32) + 1) << 32 | mine;
	} while (!atomic_compare_exchange_weak(&head, &old, new));
}

static uint32_t pop(void)
{
	uint64_t old = atomic_load_explicit(&head, memory_order_acquire), new;

	do {
		new = ((old >> 32) + 1) << 32 | *(volatile uint32_t *)&node[(uint32_t)old].next;
	} while (!atomic_compare_exchange_weak(&head, &old, new));
	return (uint32_t)old;
}

static void work(int thread, long operations)
{
	uint32_t mine = own[thread].node;

	while (operations--) {
		push(mine);
		mine = pop();
	}
	own[thread].node = mine;
}
