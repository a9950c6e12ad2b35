/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A routing table that is a list of ten entries: look one up. Readers are protected by a reference count of each
// entry on the way, by a sequence number between full fences, or by RCU, whose readers only count in their own memory.
// Build with one of -DREFCNT, -DSEQLOCK, -DRCU.
#include "../workload.h"

#define ENTRIES 10

struct route_entry {
#ifdef REFCNT
	atomic_int refcnt;
	struct route_entry *_Atomic next;
	unsigned long addr, iface;
	int freed;
#elif defined(RCU)
	void *head[2], *previous;
	struct route_entry *_Atomic next;
	unsigned long addr, iface;
	int freed;
#else
	struct route_entry *_Atomic next;
	unsigned long addr, iface;
#endif
};

/* An option of the source's program, so that it divides. */
int entries = ENTRIES;

static struct route_entry route_list;
/* The source seeds it in no reader: from 0 on it gives 2147483647 each time, so all look for the third entry. */
static _Thread_local unsigned long randseed;
#ifndef REFCNT
static atomic_ulong sequence;
#endif
#ifdef RCU
static _Thread_local unsigned long reader_nesting;
#endif

static void prepare(int threads)
{
	/* The source's threads have 56 bytes each there: how many there are decides where lines begin in the entries. */
	void *volatile before_entries = malloc(56 * (size_t)threads);

	if (!before_entries)
		exit(3);
	for (unsigned long addr = 0; addr < ENTRIES; addr++) {
		struct route_entry *entry = malloc(sizeof(*entry));

		*entry = (struct route_entry){ .addr = addr, .iface = 2 * addr, .next = route_list.next };
#ifdef REFCNT
		entry->refcnt = 1;
#endif
		route_list.next = entry;
	}
}

/* Park and Miller. */
static __attribute__((noinline)) unsigned long next_random(void)
{
	long high = (long)randseed / 127773, low = (long)randseed % 127773, next = 16807 * low - 2836 * high;

	if (next <= 0)
		next += 0x7fffffff;
	return randseed = (unsigned long)next;
}

#ifdef REFCNT
static unsigned long lookup(unsigned long addr)
{
	struct route_entry *_Atomic *from = &route_list.next, *entry = NULL;
	unsigned long iface;

	do {
		int seen;

		if (entry && atomic_fetch_sub(&entry->refcnt, 1) == 1)
			abort();
		entry = atomic_load_explicit(from, memory_order_relaxed);
		if (!entry)
			return -1ul;
		/* As a compare-and-swap that is not told what it found. */
		do {
			if (*(volatile int *)&entry->freed)
				abort();
			seen = atomic_load_explicit(&entry->refcnt, memory_order_relaxed);
		} while (!atomic_compare_exchange_strong(&entry->refcnt, &seen, seen + 1));
		from = &entry->next;
	} while (entry->addr != addr);
	iface = entry->iface;
	if (atomic_fetch_sub(&entry->refcnt, 1) == 1)
		abort();
	return iface;
}
#else
static unsigned long walk(unsigned long addr)
{
	struct route_entry *_Atomic *from = &route_list.next, *entry;

	do {
		entry = atomic_load_explicit(from, memory_order_relaxed);
		if (!entry)
			return -1ul;
		from = &entry->next;
	} while (entry->addr != addr);
#ifdef RCU
	if (*(volatile int *)&entry->freed)
		abort();
#endif
	return entry->iface;
}
#ifdef SEQLOCK
/* The source's own: what compilers make of C11's differs. */
static void full_fence(void)
{
	asm volatile("mfence" ::: "memory");
}

static unsigned long lookup(unsigned long addr)
{
	unsigned long seen, iface;

	do {
		seen = atomic_load_explicit(&sequence, memory_order_relaxed);
		full_fence();
		iface = walk(addr);
		full_fence();
	} while (seen & 1 || seen != atomic_load_explicit(&sequence, memory_order_relaxed));
	return iface;
}
#else
static unsigned long lookup(unsigned long addr)
{
	unsigned long iface;

	/* The grace period, when a thread begins to read; fences are on the side of writers. */
	reader_nesting = reader_nesting ? reader_nesting + 1 : atomic_load_explicit(&sequence, memory_order_relaxed) + 1;
	atomic_signal_fence(memory_order_seq_cst);
	iface = walk(addr);
	atomic_signal_fence(memory_order_seq_cst);
	reader_nesting--;
	return iface;
}
#endif
#endif

static void work(int thread, long operations)
{
	unsigned long (*volatile look)(unsigned long) = lookup;

	(void)thread;
	while (operations--)
		if (look(next_random() % (unsigned long)entries) == -1ul)
			abort();
}
