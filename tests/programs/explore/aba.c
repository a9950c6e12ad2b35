// SPDX-License-Identifier: MIT OR Apache-2.0
/* A lock-free stack of slots. While one thread is about to take the top slot off, others take it and the
 * next one off and put the first back: the top is what it was, its successor is not. FIXED counts the
 * changes of the top. */
#include "threads.h"

#include <stdatomic.h>
#include <stdint.h>

enum { THREADS = 3, SLOTS = 3, TIMES = 8, NONE = 0xffff };

struct slot {
	atomic_uint next;
	atomic_int owners;
};

static struct slot slots[SLOTS];
/* The low half is the top slot's number. */
static _Atomic uint64_t top = NONE;

static uint64_t changed(uint64_t old, unsigned slot)
{
#ifdef FIXED
	return ((old >> 32) + 1) << 32 | slot;
#else
	(void)old;
	return slot;
#endif
}

static void push(unsigned slot)
{
	uint64_t old = atomic_load(&top);

	do
		atomic_store(&slots[slot].next, (unsigned)old);
	while (!atomic_compare_exchange_strong(&top, &old, changed(old, slot)));
}

static unsigned pop(void)
{
	uint64_t old = atomic_load(&top);

	while ((unsigned)old != NONE) {
		unsigned next = atomic_load(&slots[(unsigned)old].next);

		if (atomic_compare_exchange_strong(&top, &old, changed(old, next)))
			break;
	}
	return (unsigned)old;
}

static void *use(void *arg)
{
	unsigned first, second;
	int i;

	for (i = 0; i < TIMES; i++) {
		first = pop();
		second = (long)arg == 0 ? NONE : pop();
		if (first != NONE)
			require(atomic_fetch_add(&slots[first].owners, 1) == 0, "a slot has two owners");
		if (second != NONE)
			require(atomic_fetch_add(&slots[second].owners, 1) == 0, "a slot has two owners");
		if (first != NONE) {
			atomic_fetch_sub(&slots[first].owners, 1);
			push(first);
		}
		if (second != NONE) {
			atomic_fetch_sub(&slots[second].owners, 1);
			push(second);
		}
	}
	return arg;
}

int main(void)
{
	unsigned slot;

	for (slot = 0; slot < SLOTS; slot++)
		push(slot);
	run_threads(THREADS, use);
	return 0;
}
