/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A queued lock around a short critical section, with work between: as it is (-DSTOCK), and one that hands over
// within a socket while it can (-DNUMA_AWARE -DCORES=N). -DINSIDE=N and -DBETWEEN=N: steps of work.
#include "../workload.h"

#ifndef INSIDE
#define INSIDE 40
#endif
#ifndef BETWEEN
#define BETWEEN 800
#endif
#ifndef CORES
#define CORES 18
#endif
#ifndef SOCKETS
#define SOCKETS 4
#endif
/* A waiter of another socket gets the lock after so many hand-overs at most. */
enum { PATIENCE = 256 };

struct node {
	_Alignas(128) _Atomic(struct node *) next;
	atomic_ulong granted;
	int socket, handed;
	/* Those passed over, in a queue that goes with the lock. */
	struct node *passed, *passed_last;
};
static _Alignas(128) _Atomic(struct node *) tail;
static _Alignas(128) volatile long data[8];
static struct node node[MOST_THREADS];
static _Alignas(128) struct { volatile long value; char rest[120]; } own[MOST_THREADS];

static void prepare(int threads)
{
	for (int t = 0; t < threads; t++)
		node[t].socket = t / CORES % SOCKETS;
}

static void acquire(struct node *mine)
{
	struct node *before;

	atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&mine->granted, 0, memory_order_relaxed);
	mine->passed = mine->passed_last = NULL;
	mine->handed = 0;
	before = atomic_exchange(&tail, mine);
	if (!before)
		return;
	atomic_store_explicit(&before->next, mine, memory_order_release);
	while (!atomic_load_explicit(&mine->granted, memory_order_acquire))
		relax();
}

static void grant(struct node *to, struct node *from)
{
	to->passed = from->passed;
	to->passed_last = from->passed_last;
	atomic_store_explicit(&to->granted, 1, memory_order_release);
}

#if defined(NUMA_AWARE)
/* The first waiter of the same socket; those before it go to the queue of the passed. */
static struct node *neighbour(struct node *mine, struct node *first)
{
	struct node *last = NULL, *at = first;

	while (at && at->socket != mine->socket) {
		last = at;
		at = atomic_load_explicit(&at->next, memory_order_acquire);
	}
	if (!at || !last)
		return at;
	if (mine->passed)
		atomic_store_explicit(&mine->passed_last->next, first, memory_order_relaxed);
	else
		mine->passed = first;
	mine->passed_last = last;
	return at;
}
#endif

static void release(struct node *mine)
{
	struct node *after = atomic_load_explicit(&mine->next, memory_order_acquire), *expected = mine;

	if (!after) {
		/* The passed are the queue from now on. */
		struct node *last = mine->passed ? mine->passed_last : NULL;

		if (last)
			atomic_store_explicit(&last->next, NULL, memory_order_relaxed);
		if (atomic_compare_exchange_strong(&tail, &expected, last)) {
			struct node *to = mine->passed;

			mine->passed = NULL;
			if (to)
				grant(to, mine);
			return;
		}
		while (!(after = atomic_load_explicit(&mine->next, memory_order_acquire)))
			relax();
	}
#if defined(NUMA_AWARE)
	if (mine->handed < PATIENCE) {
		struct node *near = neighbour(mine, after);

		if (near) {
			near->handed = mine->handed + 1;
			grant(near, mine);
			return;
		}
	}
	if (mine->passed) {
		struct node *to = mine->passed;

		atomic_store_explicit(&mine->passed_last->next, after, memory_order_relaxed);
		mine->passed = NULL;
		to->handed = 0;
		grant(to, mine);
		return;
	}
#endif
	grant(after, mine);
}

static void work(int thread, long operations)
{
	while (operations--) {
		acquire(&node[thread]);
		for (int i = 0; i < INSIDE; i++)
			data[i % 8]++;
		release(&node[thread]);
		for (int i = 0; i < BETWEEN; i++)
			own[thread].value++;
	}
}
