/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ways out of functions other than their end, and code on the stack. */
#define _GNU_SOURCE
#include "../signals/check.h"
#include <setjmp.h>
#include <ucontext.h>

static jmp_buf back;
static ucontext_t main_context, one, other;
static int told[64], length;

static __attribute__((noinline)) void dive(int levels)
{
	if (levels)
		dive(levels - 1);
	else
		longjmp(back, 1);
	told[0]++;
}

/* As often as would overflow a stack of calls that the jumps did not put right. */
static void *jump_often(void *unused)
{
	for (volatile int i = 0; i < 20000; i++)
		if (!setjmp(back))
			dive(50);
	return unused;
}

static void count(int from)
{
	for (int i = 0; i < 3; i++) {
		told[length++] = from + i;
		CHECK(swapcontext(from ? &one : &other, from ? &other : &one) == 0);
	}
}

static void *take_turns(void *unused)
{
	static char stacks[2][65536];

	length = 0;
	CHECK(getcontext(&one) == 0 && getcontext(&other) == 0);
	one.uc_stack = (stack_t){.ss_sp = stacks[0], .ss_size = sizeof(stacks[0])};
	other.uc_stack = (stack_t){.ss_sp = stacks[1], .ss_size = sizeof(stacks[1])};
	one.uc_link = &main_context;
	other.uc_link = &main_context;
	makecontext(&one, (void (*)(void))count, 1, 10);
	makecontext(&other, (void (*)(void))count, 1, 0);
	CHECK(swapcontext(&main_context, &one) == 0);
	CHECK(length == 6);
	for (int i = 0; i < 6; i++)
		CHECK(told[i] == i / 2 + (i % 2 ? 0 : 10));
	return unused;
}

static int apply(int (*function)(int), int value) { return function(value); }

static void *nested(void *unused)
{
	int base = 40;
	int add(int value) { return base + value; }

	CHECK(apply(add, 2) == 42);
	return unused;
}

static void in_a_thread(void *(*function)(void *))
{
	pthread_t thread;

	function(NULL);
	CHECK(pthread_create(&thread, NULL, function, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

int main(void)
{
	in_a_thread(jump_often);
	in_a_thread(take_turns);
	in_a_thread(nested);
	puts("jumps are right");
	return 0;
}
