/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A counter of all, or a test-and-set lock of all, by inline assembly, or with -DBUILTIN by the
 * compiler's own atomic operations: assembly THREADS TURNS counter|lock|loop, the turns divided among
 * the threads.
 */
#include "team.h"
#include <string.h>

static _Alignas(64) long counter;
static _Alignas(64) int held;
static _Alignas(64) long guarded;
static int turns;
static char what;

static inline long add(long *at, long by)
{
#ifdef BUILTIN
	return __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST);
#else
	__asm__ __volatile__("lock; xaddq %0, %1" : "+r"(by), "+m"(*at) : : "memory", "cc");
	return by;
#endif
}

static inline int take(int *lock)
{
#ifdef BUILTIN
	return __atomic_exchange_n(lock, 1, __ATOMIC_SEQ_CST);
#else
	int old = 1;

	__asm__ __volatile__("xchgl %0, %1" : "+r"(old), "+m"(*lock) : : "memory");
	return old;
#endif
}

static inline void leave(int *lock)
{
#ifdef BUILTIN
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
#else
	__asm__ __volatile__("movl $0, %0" : "=m"(*lock) : : "memory");
#endif
}

/* The whole lock is one statement: nothing but its own loop lets time pass. */
static inline void take_in_one(int *lock)
{
#ifdef BUILTIN
	while (__atomic_exchange_n(lock, 1, __ATOMIC_SEQ_CST))
		while (__atomic_load_n(lock, __ATOMIC_RELAXED))
			__builtin_ia32_pause();
#else
	__asm__ __volatile__("1: movl $1, %%eax\n\t"
			     "xchg %%eax, (%0)\n\t"
			     "test %%eax, %%eax; jz 3f\n"
			     "2:\trep; nop # wait\n\t"
			     "cmpl $0, (%0)\n\t"
			     "jne 2b\n\t"
			     "jmp 1b\n"
			     "3:"
			     : : "r"(lock) : "eax", "memory", "cc");
#endif
}

/* Some work: who wins a lock that guards next to nothing hangs on single cycles. */
static void guard(void)
{
	guarded++;
	for (int i = 0; i < 4; i++)
		__builtin_ia32_lfence();
}

static void work(int thread)
{
	(void)thread;
	for (int turn = 0; turn < turns; turn++) {
		if (what == 'c') {
			add(&counter, 1);
		} else if (what == 't') {
			while (take(&held))
				;
			guard();
			leave(&held);
		} else {
			take_in_one(&held);
			guard();
			leave(&held);
		}
		COREFOLD_PROGRESS("turn");
	}
}

int main(int argc, char **argv)
{
	int threads;

	if (argc != 4)
		return 2;
	threads = atoi(argv[1]);
	turns = atoi(argv[2]) / threads;
	what = strcmp(argv[3], "counter") ? strcmp(argv[3], "lock") ? 'l' : 't' : 'c';
	team_run(threads, work);
	return counter + guarded != (long)turns * threads;
}
