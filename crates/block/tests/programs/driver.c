/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs each loop and prints what happened in it, a line each: "loop NAME", then "atomic" or a code address.
 * In the plain build the addresses are those of all instructions in order, found by single-stepping;
 * in the instrumented build, those that the block hook returns to. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include "loops.h"

enum { MOST = 1 << 20 };
static u64 events[MOST];
static u64 count;
static struct data data;
extern char __start_timed[], __stop_timed[];

void record(u64 event)
{
	if (count < MOST)
		events[count++] = event;
}

static void prepare(void)
{
	u64 x = 88172645463325252ul;
	for (u64 i = 0; i < ROUNDS; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		data.values[i] = x;
		data.words[i] = (u32)x;
		data.bytes[i] = 'a' + x % 23;
		data.row[i] = data.column[i * 8] = (double)(x % 100);
		data.nodes[i].value = x % 100;
		data.nodes[i].next = i + 1 < ROUNDS ? &data.nodes[i + 1] : 0;
	}
	data.list = data.nodes;
	data.a = 0.5;
	data.b = 2;
}

static void print(const char *name)
{
	printf("loop %s\n", name);
	for (u64 i = 0; i < count; i++)
		if (events[i] == 1)
			puts("atomic");
		else
			printf("%lx\n", events[i]);
}

#ifdef PLAIN
static void stepped(int signal, siginfo_t *info, void *context)
{
	u64 at = (u64)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	(void)signal, (void)info;
	if (at >= (u64)__start_timed && at < (u64)__stop_timed)
		record(at);
}

static void step(int on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };
	sigaction(SIGTRAP, &action, 0);
#else
extern int recording;
static void step(int on)
{
	recording = on;
}

int main(void)
{
#endif
	for (const struct loop *loop = loops; loop->name; loop++) {
		prepare();
		count = 0;
		step(1);
		loop->run(&data, ROUNDS);
		step(0);
		print(loop->name);
	}
	return 0;
}
