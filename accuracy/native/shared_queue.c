/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A bounded queue of many producers and consumers, with a turn in each slot; every thread puts, then takes.
#include "../workload.h"

enum { SLOTS = 1024 };
static _Alignas(128) struct slot { atomic_ulong turn; long value; } slot[SLOTS];
static _Alignas(128) atomic_ulong head;
static _Alignas(128) atomic_ulong tail;
static volatile long seen[MOST_THREADS][16];

static void prepare(int threads)
{
	(void)threads;
	for (unsigned long i = 0; i < SLOTS; i++)
		atomic_init(&slot[i].turn, i);
}

/* The slot whose turn it is, claimed at `end`; `ahead` is 0 for who puts, 1 for who takes. */
static struct slot *claim(atomic_ulong *end, unsigned long ahead, unsigned long *at)
{
	*at = atomic_load_explicit(end, memory_order_relaxed);
	for (;;) {
		struct slot *here = &slot[*at % SLOTS];
		unsigned long turn = atomic_load_explicit(&here->turn, memory_order_acquire);

		if (turn == *at + ahead) {
			if (atomic_compare_exchange_weak(end, at, *at + 1))
				return here;
		} else {
			*at = atomic_load_explicit(end, memory_order_relaxed);
		}
	}
}

static void work(int thread, long operations)
{
	unsigned long at;

	while (operations--) {
		struct slot *here = claim(&head, 0, &at);

		here->value = thread;
		atomic_store_explicit(&here->turn, at + 1, memory_order_release);
		here = claim(&tail, 1, &at);
		seen[thread][0] = here->value;
		atomic_store_explicit(&here->turn, at + SLOTS, memory_order_release);
	}
}
