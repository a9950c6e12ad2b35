/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Each thread rounds as it says itself, whoever runs between; a new one as the one that made it. And what its divisions have
 * raised is raised for it alone.
 */
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <xmmintrin.h>

#define THREADS 4
#define ROUNDS 50
#define FLUSH_TO_ZERO 0x8000

/* To nearest, down, up, to zero. */
static const unsigned modes[THREADS] = { 0, 1, 2, 3 };
static pthread_barrier_t all;
static volatile double one = 1, ten = 10;
static volatile long double long_one = 1, long_ten = 10, nothing;

/* What fesetround and fegetround do, which are in libm. */
static void set(unsigned mode)
{
	unsigned short x87 = 0x37f | mode << 10;

	__asm__ __volatile__("fldcw %0" : : "m"(x87));
	_mm_setcsr((_mm_getcsr() & ~0x6000u) | mode << 13);
}

static int is(unsigned mode)
{
	unsigned short x87;

	__asm__ __volatile__("fnstcw %0" : "=m"(x87));
	return (x87 >> 10 & 3) == mode && (_mm_getcsr() >> 13 & 3) == mode;
}

/* That a division by zero was raised, as fetestexcept says; long doubles are divided by the x87. */
static int x87_raised(void)
{
	unsigned short status;

	__asm__ __volatile__("fnstsw %0" : "=m"(status));
	return status >> 2 & 1;
}

static void *inherits(void *mode)
{
	CHECK(is((unsigned)(intptr_t)mode));
	return NULL;
}

static void *work(void *argument)
{
	int me = (int)(intptr_t)argument;
	unsigned mode = modes[me], flush = me & 1 ? FLUSH_TO_ZERO : 0;
	double tenth;
	long double long_tenth;
	pthread_t child;

	set(mode);
	_mm_setcsr(_mm_getcsr() | flush);
	tenth = one / ten;
	long_tenth = long_one / long_ten;
	if (me == 2)
		nothing = long_one / nothing;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&all);
		CHECK(is(mode) && (_mm_getcsr() & FLUSH_TO_ZERO) == flush);
		CHECK(x87_raised() == (me == 2));
		CHECK(one / ten == tenth && long_one / long_ten == long_tenth);
	}
	pthread_create(&child, NULL, inherits, (void *)(intptr_t)mode);
	pthread_join(child, NULL);
	CHECK(is(mode));
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(is(0));
	puts("each rounds as it says");
	return 0;
}
