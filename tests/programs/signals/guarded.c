/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages that the program protects or unmaps, and accesses all the same: its handler knows what to do. */
#define _GNU_SOURCE
#include "check.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

enum { ROUNDS = 200, PAGE = 4096, LINE = 64 / sizeof(long) };

static sigjmp_buf back;
static long *guarded;
static int leaves, opened;
static _Alignas(64) volatile long data[ROUNDS * 8 * LINE];
static long sum;

static void handler(int signal)
{
	(void)signal;
	if (leaves)
		siglongjmp(back, 1);
	opened++;
	CHECK(mprotect(guarded, PAGE, PROT_READ | PROT_WRITE) == 0);
}

/* Loads of other lines, behind the one that faulted. */
static void read_on(int round)
{
	for (int i = 0; i < 8; i++)
		sum += data[(round * 8 + i) * LINE];
}

static long *page(int protection)
{
	long *got = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(got != MAP_FAILED);
	return got;
}

static void leave_the_load(void)
{
	int left = 0;

	leaves = 1;
	for (int round = 0; round < ROUNDS; round++) {
		guarded = page(PROT_NONE);
		if (sigsetjmp(back, 1))
			left++;
		else
			sum += ((volatile long *)guarded)[round];
		read_on(round);
		CHECK(munmap(guarded, PAGE) == 0);
	}
	CHECK(left == ROUNDS);
	leaves = 0;
}

/* As a garbage collector does that wants to know of stores. An atomic store may be waiting for its line. */
static void store_again(int protection)
{
	static long shared[ROUNDS * LINE];

	opened = 0;
	for (int round = 0; round < ROUNDS; round++) {
		guarded = page(protection);
		__atomic_store_n(&shared[round * LINE], round, __ATOMIC_RELEASE);
		((volatile long *)guarded)[round] = round + 1;
		read_on(round);
		CHECK(((volatile long *)guarded)[round] == round + 1);
		CHECK(munmap(guarded, PAGE) == 0);
	}
	CHECK(opened == ROUNDS);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	leave_the_load();
	puts("loads that fault are left");
	store_again(PROT_NONE);
	store_again(PROT_READ);
	puts("stores that fault are made again");
	return (int)sum;
}
