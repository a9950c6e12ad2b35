/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Atomic operations on pages that the program has protected: each faults as it does natively, for a handler that opens the
 * page and for one that leaves. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, BEFORE = 5, LEFT = -1 };

static sigjmp_buf back;
static uint64_t *guarded;
static int leaves, faults;
static long handled;

static void handler(int signal, siginfo_t *information, void *context)
{
	(void)signal, (void)context;
	CHECK((uint64_t *)information->si_addr == guarded);
	faults++;
	handled++;
	if (leaves)
		siglongjmp(back, 1);
	CHECK(mprotect(guarded, PAGE, PROT_READ | PROT_WRITE) == 0);
}

enum kind { LOAD, STORE, ORDERED_STORE, ADD, SWAP, FAILED_SWAP, EXCHANGE, XADD, XCHG, MOV, WIDE, KINDS };

static long operate(enum kind kind)
{
	uint64_t expected = kind == FAILED_SWAP ? BEFORE + 1 : BEFORE, value = 1, low = BEFORE, high = 0;
	uint8_t swapped;

	if (sigsetjmp(back, 1))
		return LEFT;
	switch (kind) {
	case LOAD:
		return (long)__atomic_load_n(guarded, __ATOMIC_ACQUIRE);
	case STORE:
		__atomic_store_n(guarded, 1, __ATOMIC_RELEASE);
		return BEFORE;
	case ORDERED_STORE:
		__atomic_store_n(guarded, 1, __ATOMIC_SEQ_CST);
		return BEFORE;
	case ADD:
		return (long)__atomic_fetch_sub(guarded, 4, __ATOMIC_SEQ_CST);
	case SWAP:
	case FAILED_SWAP:
		__atomic_compare_exchange_n(guarded, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return (long)expected;
	case EXCHANGE:
		return __atomic_exchange_n((uint32_t *)guarded, 1, __ATOMIC_ACQ_REL);
	case XADD:
		value = -4ul;
		__asm__ volatile("lock xaddq %0, %1" : "+r"(value), "+m"(*guarded) : : "memory");
		return (long)value;
	case XCHG:
		__asm__ volatile("xchgq %0, %1" : "+r"(value), "+m"(*guarded) : : "memory");
		return (long)value;
	case MOV:
		__asm__ volatile("movq %1, %0" : "=m"(*guarded) : "r"(value) : "memory");
		return BEFORE;
	default:
		__asm__ volatile("lock cmpxchg16b %1; sete %0"
				 : "=q"(swapped), "+m"(*(unsigned __int128 *)guarded), "+a"(low), "+d"(high)
				 : "b"(1ul), "c"(0ul) : "memory");
		return swapped ? BEFORE : (long)low;
	}
}

static void one(enum kind kind, int protection)
{
	int is_allowed = kind == LOAD && protection == PROT_READ;
	uint64_t after = kind == LOAD || kind == FAILED_SWAP ? BEFORE : 1;
	long got;

	*guarded = BEFORE;
	faults = 0;
	CHECK(mprotect(guarded, PAGE, protection) == 0);
	got = operate(kind);
	CHECK(mprotect(guarded, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(faults == !is_allowed);
	CHECK(got == (leaves && !is_allowed ? LEFT : BEFORE));
	CHECK(*guarded == (leaves ? BEFORE : after));
}

static void *all(void *unused)
{
	for (leaves = 0; leaves < 2; leaves++)
		for (int kind = 0; kind < KINDS; kind++) {
			one((enum kind)kind, PROT_NONE);
			one((enum kind)kind, PROT_READ);
		}
	return unused;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	guarded = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(guarded != MAP_FAILED);
	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	all(NULL);
	CHECK(pthread_create(&thread, NULL, all, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(handled == 2 * 2 * (2 * KINDS - 1));
	return 0;
}
