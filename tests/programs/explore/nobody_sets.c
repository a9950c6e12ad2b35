/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A thread waits for a flag that nobody sets, in one of the ways to wait, while main joins it. As it might, if
 * "late" is said: then main sets the flag after 40 ms. "twice": two threads wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int flag;
static volatile int plain;
/* On a line of its own, which nobody writes. */
static struct { _Alignas(128) volatile int flag; char rest[124]; } apart;
static pthread_spinlock_t spin;

static void *look(void *unused)
{
	while (!atomic_load(&flag))
		;
	return unused;
}

static void *look_plainly(void *unused)
{
	while (!plain)
		__builtin_ia32_pause();
	return unused;
}

static void *look_apart(void *unused)
{
	while (!apart.flag)
		;
	return unused;
}

static void *look_in_assembly(void *unused)
{
	int set;

	do
		__asm__ volatile("movl %1, %0" : "=r"(set) : "m"(plain));
	while (!set);
	return unused;
}

static void *look_within_assembly(void *unused)
{
	__asm__ volatile("1: pause\n\tcmpl $0, %0\n\tje 1b" : : "m"(plain) : "cc");
	return unused;
}

/* The polling thread itself has written the word before. */
static void *look_at_own(void *unused)
{
	apart.flag = 0;
	while (!apart.flag)
		__builtin_ia32_pause();
	return unused;
}

static void *take(void *unused)
{
	pthread_spin_lock(&spin);
	return unused;
}

static void *yield(void *unused)
{
	while (!atomic_load(&flag))
		sched_yield();
	return unused;
}

/* Ends by itself, after 20 ms. */
static void *count(void *unused)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (!atomic_load(&flag) &&
	       (now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 20000000L);
	for (long left = 400000; left && !atomic_load(&flag); left--)
		__builtin_ia32_pause();
	return unused;
}

/* These end by themselves: after 20 million draws, which libc counts in memory of its own, */
static void *draw(void *unused)
{
	while (!apart.flag && lrand48() != 397298261)
		;
	return unused;
}

/* and here the counter is far from the top of the stack. */
static void *count_below(void *unused)
{
	struct {
		char far[100000];
		volatile long looks;
	} frame;

	for (frame.looks = 0; !apart.flag && frame.looks < 20000000; frame.looks++)
		;
	return unused;
}

/* In registers that no call would keep. */
static void *count_within_assembly(void *unused)
{
	int left = 2000000;

	__asm__ volatile("1: cmpl $0, %1\n\tjne 2f\n\tdecl %0\n\tjnz 1b\n2:" : "+c"(left) : "m"(plain) : "cc");
	return unused;
}

static void *count_in_vector(void *unused)
{
	long left;

	__asm__ volatile("movq %2, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1\n"
			 "1: cmpl $0, %1\n\tjne 2f\n\tpaddq %%xmm1, %%xmm0\n\tmovq %%xmm0, %0\n\ttestl %k0, %k0\n\tmovl $0, %k0\n\tjnz 1b\n2:"
			 : "=&r"(left)
			 : "m"(plain), "r"(2000000L)
			 : "cc", "xmm0", "xmm1");
	return unused;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t thread;

	pthread_spin_init(&spin, 0);
	pthread_spin_lock(&spin);
	void *(*wait)(void *) = !strcmp(way, "look")    ? look
				: !strcmp(way, "plain") ? look_plainly
				: !strcmp(way, "apart") ? look_apart
				: !strcmp(way, "own")   ? look_at_own
				: !strcmp(way, "spin")  ? take
				: !strcmp(way, "yield") ? yield
				: !strcmp(way, "assembly") ? look_in_assembly
				: !strcmp(way, "within") ? look_within_assembly
				: !strcmp(way, "counts_within") ? count_within_assembly
				: !strcmp(way, "vector") ? count_in_vector
				: !strcmp(way, "draw")  ? draw
				: !strcmp(way, "below") ? count_below
							: count;
	pthread_create(&thread, NULL, wait, NULL);
	if (argc > 2 && !strcmp(argv[2], "twice")) {
		pthread_t second;

		pthread_create(&second, NULL, wait, NULL);
	} else if (argc > 2) {
		usleep(40000);
		atomic_store(&flag, 1);
		plain = 1;
		apart.flag = 1;
		pthread_spin_unlock(&spin);
	}
	pthread_join(thread, NULL);
	puts("joined");
	return 0;
}
