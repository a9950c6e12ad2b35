/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inline assembly in many forms gives what the processor gives: results, flags, registers and the red
 * zone are the program's own, and threads see one another's changes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 300

/* As the kernel has it: the address of each prefix goes into a section of its own. */
#define LOCKED ".pushsection .smp_locks,\"a\"\n.balign 4\n.long 671f - .\n.popsection\n671:\n\tlock; "

static struct {
	int32_t by_kernel_macro, by_rip, indexed[8];
	int64_t added, bits[4];
	union {
		uint64_t wide[2];
		__int128 whole;
	};
	int16_t half;
	int8_t byte;
	int taken, guarded;
} all;
static __thread int64_t own = 40;
static int failures;

static void check(int holds, const char *what)
{
	if (!holds) {
		printf("wrong: %s\n", what);
		failures++;
	}
}

static void add_wide(void)
{
	uint64_t low = all.wide[0], high = all.wide[1];
	unsigned char done;

	do
		__asm__ __volatile__("lock cmpxchg16b %1\n\tsetz %0"
				     : "=q"(done), "+m"(all.whole), "+a"(low), "+d"(high)
				     : "b"(low + 1), "c"(high + 2) : "memory", "cc");
	while (!done);
}

static void lock(int *word)
{
	__asm__ __volatile__("1:\tlock btsl $0, %0 # take it; or wait\n"
			     "\tjnc 3f\n"
			     "2:\tpause; testl $1, %0 /* taken; */\n"
			     "\tjnz 2b\n\tjmp 1b\n3:"
			     : "+m"(*word) : : "memory", "cc");
}

static int try_to_take(int *word)
{
	__asm__ goto("lock; btsl $1, %0\n\tjc %l[no]" : : "m"(*word) : "memory", "cc" : no);
	return 1;
no:
	return 0;
}

static void *work(void *argument)
{
	long me = (long)argument;
	int64_t by = 3;
	unsigned char zero;

	for (int round = 0; round < ROUNDS; round++) {
		__asm__ __volatile__(LOCKED "addl $1, %0" : "+m"(all.by_kernel_macro) : : "memory", "cc");
		__asm__ __volatile__("lock\n\tincl %0; lock; decl %0\n\tlock incl %0" : "+m"(all.by_rip) : : "cc");
		__asm__ __volatile__("lock incl (%0,%1,4)" : : "r"(all.indexed), "r"(me) : "memory", "cc");
		__asm__ __volatile__("lock xaddq %0, %1" : "+r"(by), "+m"(all.added) : : "memory", "cc");
		by = 3;
		__asm__ __volatile__("lock btcq %1, %0" : "+m"(all.bits) : "r"((int64_t)(64 * me + round % 64)) : "memory", "cc");
		__asm__ __volatile__("lock incw %0" : "+m"(all.half) : : "cc");
		__asm__ __volatile__("lock subb $1, %0; setz %1" : "+m"(all.byte), "=q"(zero) : : "cc");
		__asm__ __volatile__("lock addq $1, %0" : "+m"(own) : : "cc");
		add_wide();
		lock(&all.taken);
		all.guarded++;
		__asm__ __volatile__("movl $0, %0" : "=m"(all.taken) : : "memory");
	}
	check(own == 40 + ROUNDS, "a thread's own variable");
	return NULL;
}

static void together(void)
{
	pthread_t threads[THREADS];
	const int total = THREADS * ROUNDS;

	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(all.by_kernel_macro == total && all.by_rip == total, "words");
	check(all.added == 3 * total && all.guarded == total, "sums");
	check(all.wide[0] == (uint64_t)total && all.wide[1] == 2 * (uint64_t)total, "pairs");
	check(all.half == (int16_t)total && all.byte == (int8_t)-total, "small ones");
	for (int i = 0; i < THREADS; i++)
		/* Bits below ROUNDS % 64 were turned once more, an odd number of times in all. */
		check(all.indexed[i] == ROUNDS && all.bits[i] == (int64_t)((1ull << ROUNDS % 64) - 1), "rows");
}

/* An instruction's flags and registers come through, and so do those from before it. */
static void flags_and_registers(void)
{
	int64_t word = -1, old = 7;
	uint8_t carry, zero, sign;

	__asm__ __volatile__("stc\n\tlock adcq $1, %0\n\tsetc %1; setz %2; sets %3"
			     : "+m"(word), "=q"(carry), "=q"(zero), "=q"(sign) : : "memory", "cc");
	check(word == 1 && carry && !zero && !sign, "flags");
	__asm__ __volatile__("xchgq %%rdi, (%%rdi)" : "+D"(*(int64_t **)&(int64_t *){ &old }) : : "memory");
	check(old == (int64_t)(intptr_t)&old, "the address register itself");
	word = 5;
	__asm__ __volatile__("std\n\tlock negq %0\n\tcld" : "+m"(word) : : "memory", "cc");
	check(word == -5, "the direction flag");
}

static void vectors_and_red_zone(void)
{
	double in[4] = { 1, 2, 3, 4 }, out[2];
	int word = 0;
	int64_t below;

	__asm__ __volatile__("movupd %3, %%xmm9\n\tmovq $77, -64(%%rsp)\n\tlock incl %0\n\txchgl %%r8d, %0\n\t"
			     "movq -64(%%rsp), %2\n\tmovupd %%xmm9, %1"
			     : "+m"(word), "=m"(out), "=r"(below) : "m"(in) : "xmm9", "r8", "memory", "cc");
	check(out[0] == 1 && out[1] == 2, "vector registers");
	check(below == 77, "the red zone");
}

static void strings(void)
{
	char from[300], to[300];
	void *source = from + 1, *target = to + 1;
	unsigned long count = 290;

	memset(from, 'x', sizeof(from));
	memset(to, 'o', sizeof(to));
	__asm__ __volatile__("rep; movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
	check(to[0] == 'o' && to[1] == 'x' && to[290] == 'x' && to[291] == 'o' && !count, "rep movsb");
	count = 4;
	target = to;
	__asm__ __volatile__("cld; rep stosq" : "+D"(target), "+c"(count) : "a"(0L) : "memory");
	check(!to[0] && !to[31] && to[32] == 'x', "rep stosq");
}

/* Nothing can be put into this: the jump counts its bytes, and the loop reaches 127 of them. */
static void rigid(void)
{
	long sum = 0, rounds = 5;

	__asm__ __volatile__("jmp .+4\n\tud2\n1:\tlock incq %0\n\tloop 1b" : "+m"(sum), "+c"(rounds) : : "memory", "cc");
	check(sum == 5, "rigid code");
}

int main(void)
{
	together();
	flags_and_registers();
	vectors_and_red_zone();
	strings();
	rigid();
	all.taken = 0;
	check(try_to_take(&all.taken) && !try_to_take(&all.taken), "asm goto");
	puts(failures ? "failed" : "right");
	return failures != 0;
}
