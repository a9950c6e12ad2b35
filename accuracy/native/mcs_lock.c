/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A queued lock: each waits at a word of its own.
#include "../workload.h"

struct node {
	_Alignas(128) _Atomic(struct node *) next;
	atomic_int waits;
};
static _Alignas(128) _Atomic(struct node *) tail;
static struct node node[MOST_THREADS];
static _Alignas(128) volatile long counter[2];

static void prepare(int threads) { (void)threads; }

static void lock(struct node *mine)
{
	struct node *before;

	atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&mine->waits, 1, memory_order_relaxed);
	before = atomic_exchange(&tail, mine);
	if (!before)
		return;
	atomic_store_explicit(&before->next, mine, memory_order_release);
	while (atomic_load_explicit(&mine->waits, memory_order_acquire))
		relax();
}

static void unlock(struct node *mine)
{
	struct node *after = atomic_load_explicit(&mine->next, memory_order_acquire), *expected = mine;

	if (!after) {
		if (atomic_compare_exchange_strong(&tail, &expected, NULL))
			return;
		while (!(after = atomic_load_explicit(&mine->next, memory_order_acquire)))
			relax();
	}
	atomic_store_explicit(&after->waits, 0, memory_order_release);
}

static void work(int thread, long operations)
{
	while (operations--) {
		lock(&node[thread]);
		counter[0]++;
		counter[1]++;
		unlock(&node[thread]);
	}
}
