/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Groups of threads that change a word of their group, with work between: folly's SmallLocksBenchmark, its three cases
// without a lock. All CPUs run a thread; -DGROUP=N of them share words. Build with -DFETCH_ADD (five words), -DFETCH_XOR or -DCAS.
#include "../workload.h"

enum { WORDS = 5, WORK = 1000 };

static struct { struct { _Alignas(2 * LINE) atomic_ulong value; } word[WORDS]; } group[MOST_THREADS];
static int groups, place[MOST_THREADS];

/* The published threads are not pinned: which of them share a word has nothing to do with their cores. */
static void prepare(int threads)
{
	unsigned long random = 1;

	groups = threads / GROUP;
	for (int t = 0; t < threads; t++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		int other = (int)((random >> 33) % (unsigned long)(t + 1));

		place[t] = place[other];
		place[other] = t;
	}
}

static void burn(void)
{
	for (unsigned long i = 0; i < WORK; i++)
		__asm__ volatile("" : : "r"(i));
}

#if defined(FETCH_ADD)
static unsigned long change(int mine)
{
	unsigned long sum = 0;

	for (int w = 0; w < WORDS; w++)
		sum += atomic_fetch_add(&group[mine].word[w].value, 1);
	return sum;
}
#else
/* An exclusive or whose old value is used is a loop of compare-and-swap on x86, too. */
static unsigned long change(int mine)
{
	atomic_ulong *word = &group[mine].word[0].value;
	unsigned long seen = atomic_load_explicit(word, memory_order_relaxed);
#if defined(FETCH_XOR)
	while (!atomic_compare_exchange_strong(word, &seen, ~seen))
		;
#else
	while (!atomic_compare_exchange_strong(word, &seen, seen + 1))
		;
#endif
	return seen;
}
#endif

static void work(int thread, long operations)
{
	for (long i = 0; i < operations; i++) {
		unsigned long seen = change(place[thread] % groups);

		__asm__ volatile("" : : "r"(seen));
		burn();
	}
}
