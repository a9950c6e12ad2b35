/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What no hook of the compiler's tells of keeps its order: intrinsics, and assembly that cannot be read.
   intrinsics fence | halves | masked | bytes prints "kept". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <emmintrin.h>

enum { ROUNDS = 10000 };

static _Alignas(64) atomic_int flag[2];
static _Alignas(64) atomic_int turn;
static _Alignas(64) atomic_uint sequence;
static _Alignas(64) float copies[4];
static _Alignas(64) char bytes[64];
static _Alignas(64) atomic_int done;
static _Alignas(64) long counted;
static long wrong;

/* Peterson's lock, which needs a fence between its stores and its load. */
static void *count(void *number)
{
	int me = number != NULL, other = !me;

	for (int i = 0; i < ROUNDS; i++) {
		atomic_store_explicit(&flag[me], 1, memory_order_release);
		atomic_store_explicit(&turn, other, memory_order_release);
		_mm_mfence();
		while (atomic_load_explicit(&flag[other], memory_order_acquire) &&
		       atomic_load_explicit(&turn, memory_order_acquire) == other)
			_mm_pause();
		counted++;
		atomic_store_explicit(&flag[me], 0, memory_order_release);
	}
	return NULL;
}

/* A sequence lock whose data is stored by halves of a vector. */
static void *write_halves(void *unused)
{
	for (unsigned i = 2; i < ROUNDS; i += 2) {
		__m128 all = _mm_set1_ps((float)i);

		atomic_store_explicit(&sequence, i - 1, memory_order_release);
		_mm_storel_pi((__m64 *)&copies[0], all);
		_mm_storeh_pi((__m64 *)&copies[2], all);
		atomic_store_explicit(&sequence, i, memory_order_release);
	}
	atomic_store(&done, 1);
	return unused;
}

static void *read_halves(void *unused)
{
	while (!atomic_load(&done)) {
		unsigned before = atomic_load_explicit(&sequence, memory_order_acquire);
		float first = *(volatile float *)&copies[0], last = *(volatile float *)&copies[3];

		if (before & 1 || atomic_load_explicit(&sequence, memory_order_acquire) != before)
			continue;
		wrong += first != last || first != (float)before;
	}
	return unused;
}

/* A masked store writes the first of 16 bytes, and another thread the second. */
static void *write_first(void *unused)
{
	__m128i mask = _mm_set_epi32(0, 0, 0, 0x80);

	for (int i = 0; i < ROUNDS; i++) {
		atomic_store_explicit(&sequence, (unsigned)i, memory_order_release);
		_mm_maskmoveu_si128(_mm_set1_epi8((char)i), mask, bytes);
	}
	atomic_store(&done, 1);
	return unused;
}

static void *write_second(void *unused)
{
	for (char i = 0; !atomic_load(&done); i++) {
		((volatile char *)bytes)[1] = i;
		atomic_load(&sequence);
		wrong += ((volatile char *)bytes)[1] != i;
	}
	return unused;
}

/* A number, and then another that announces it, by a store whose instruction cannot be read. */
static void *announce(void *unused)
{
	for (unsigned i = 1; i < ROUNDS; i++) {
		atomic_store_explicit(&sequence, i, memory_order_release);
		/* movl %eax, (%rdi) */
		__asm__ volatile(".byte 0x89, 0x07" : : "a"(i), "D"(bytes) : "memory");
	}
	atomic_store(&done, 1);
	return unused;
}

static void *look(void *unused)
{
	while (!atomic_load(&done)) {
		unsigned announced = *(volatile unsigned *)bytes;

		wrong += atomic_load_explicit(&sequence, memory_order_acquire) < announced;
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *(*first)(void *) = count, *(*second)(void *) = count;
	pthread_t thread;

	if (!strcmp(what, "halves"))
		first = write_halves, second = read_halves;
	else if (!strcmp(what, "masked"))
		first = write_first, second = write_second;
	else if (!strcmp(what, "bytes"))
		first = announce, second = look;
	else
		counted = -2 * ROUNDS;
	pthread_create(&thread, NULL, first, &thread);
	second(NULL);
	pthread_join(thread, NULL);
	puts(wrong || counted ? "broken" : "kept");
	return 0;
}
