/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Registers hold their values across instructions of inline assembly that access shared memory, whether other threads
 * run at that place or not: xmm, ymm, zmm and mask registers (where the host has them), x87, flags, MXCSR.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define ROUNDS 150
#define LINES 3000
#define LOCKED "lock incl (%0)\n\tmovl $1, 4(%0)\n\tlock decl (%0)\n\t"

struct line {
	_Alignas(64) int word[16];
};

/* One that all threads write at once, and one after the other many that are new. */
static struct line contended, lines[LINES];
static pthread_barrier_t all;
static int failures;

static void check(int holds, const char *what)
{
	if (!holds && !__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED))
		printf("changed: %s\n", what);
}

static void fill(unsigned char *bytes, int count, unsigned seed)
{
	for (int i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		bytes[i] = (unsigned char)(seed >> 16);
	}
}

/* NAME(at, in, out): loads registers, updates `at`, stores the registers. */
#define KEEPS(name, load, store, ...) \
	static __attribute__((noinline)) void name(int *at, const void *in, void *out) \
	{ \
		__asm__ __volatile__(load LOCKED store : : "r"(at), "r"(in), "r"(out) : "memory", "cc", __VA_ARGS__); \
	}
#define XMM_CLOBBERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
	"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define LOW(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define HIGH(f) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30) f(31)

#define LOAD_XMM(n) "movups 16*" #n "(%1), %%xmm" #n "\n\t"
#define STORE_XMM(n) "movups %%xmm" #n ", 16*" #n "(%2)\n\t"
KEEPS(xmm, LOW(LOAD_XMM), LOW(STORE_XMM), XMM_CLOBBERS)

#define LOAD_YMM(n) "vmovdqu 32*" #n "(%1), %%ymm" #n "\n\t"
#define STORE_YMM(n) "vmovdqu %%ymm" #n ", 32*" #n "(%2)\n\t"
KEEPS(ymm, LOW(LOAD_YMM), LOW(STORE_YMM) "vzeroupper\n\t", XMM_CLOBBERS)

#define LOAD_ZMM(n) "vmovdqu64 64*" #n "(%1), %%zmm" #n "\n\t"
#define STORE_ZMM(n) "vmovdqu64 %%zmm" #n ", 64*" #n "(%2)\n\t"
#define LOAD_MASK(n) "kmovq 2048+8*" #n "(%1), %%k" #n "\n\t"
#define STORE_MASK(n) "kmovq %%k" #n ", 2048+8*" #n "(%2)\n\t"
#define MASKS(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
KEEPS(zmm, MASKS(LOAD_MASK) LOW(LOAD_ZMM) HIGH(LOAD_ZMM),
      MASKS(STORE_MASK) LOW(STORE_ZMM) HIGH(STORE_ZMM) "vzeroupper\n\t", XMM_CLOBBERS)

/* Eight numbers that a double holds exactly. */
#define LOAD_X87(n) "fldl 8*" #n "(%1)\n\t"
#define STORE_X87(n) "fstpl 8*" #n "(%2)\n\t"
KEEPS(x87, LOAD_X87(7) LOAD_X87(6) LOAD_X87(5) LOAD_X87(4) LOAD_X87(3) LOAD_X87(2) LOAD_X87(1) LOAD_X87(0),
      STORE_X87(0) STORE_X87(1) STORE_X87(2) STORE_X87(3) STORE_X87(4) STORE_X87(5) STORE_X87(6) STORE_X87(7),
      "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)")

/* The words that say how to round. Each thread has its own. */
KEEPS(control_words, "ldmxcsr (%1)\n\tfldcw 4(%1)\n\t", "stmxcsr (%2)\n\tfnstcw 4(%2)\n\t", XMM_CLOBBERS)

/* Stores leave the flags alone; what comes before the store has set them. */
static void flags(int *at, unsigned seed)
{
	unsigned char carry, overflow, zero, parity, want = seed & 1;

	__asm__ __volatile__("movl %5, %%eax\n\taddl $0x7fffffff, %%eax\n\tbtl $0, %5\n\tmovl $2, 8(%4)\n\tsetc %0\n\t"
			     "cmpl %5, %5\n\tmovl $3, 8(%4)\n\tsetz %2\n\tsetp %3\n\tseto %1"
			     : "=&q"(carry), "=&q"(overflow), "=&q"(zero), "=&q"(parity)
			     : "r"(at), "r"(seed) : "eax", "memory", "cc");
	check(carry == want && !overflow && zero && parity, "flags");
}

typedef void keeps(int *at, const void *in, void *out);

static void same(const char *what, keeps *keep, int *at, const void *in, int bytes)
{
	unsigned char out[2048 + 64];

	memset(out, 0, sizeof(out));
	keep(at, in, out);
	check(!memcmp(in, out, bytes), what);
}

static void once(int *at, unsigned seed)
{
	unsigned char bytes[2048 + 64];
	double numbers[8];
	struct { uint32_t mxcsr; uint16_t word; } control = { 0x1f80 | (seed & 3) << 13, 0x37f | (seed & 3) << 10 };
	const struct { uint32_t mxcsr; uint16_t word; } usual = { 0x1f80, 0x37f };

	fill(bytes, sizeof(bytes), seed);
	for (int i = 0; i < 8; i++)
		numbers[i] = seed + i;
	same("xmm", xmm, at, bytes, 256);
	if (__builtin_cpu_supports("avx"))
		same("ymm", ymm, at, bytes, 512);
	if (__builtin_cpu_supports("avx512bw"))
		same("zmm", zmm, at, bytes, 2048 + 64);
	same("x87", x87, at, numbers, sizeof(numbers));
	same("control", control_words, at, &control, 6);
	flags(at, seed);
	__asm__ __volatile__("ldmxcsr %0\n\tfldcw %1" : : "m"(usual.mxcsr), "m"(usual.word));
}

static void *work(void *argument)
{
	unsigned seed = 7919 * (unsigned)(intptr_t)argument;

	pthread_barrier_wait(&all);
	for (int round = 0; round < ROUNDS; round++)
		once(contended.word, seed + round);
	for (int i = 0; i < LINES; i++)
		once(lines[i].word, seed + i);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	once(contended.word, 1);
	pthread_barrier_init(&all, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	check(!contended.word[0], "the word");
	puts(failures ? "registers change" : "registers hold");
	return failures != 0;
}
