/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * spun_locks THREADS HOW: locks that a program makes of one word, taken by each thread TURNS times. Says how often the
 * lock was taken, and how often a thread found it taken.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 500, MOST = 64 };

static _Alignas(64) atomic_int word;
static _Alignas(64) atomic_uint next, owner;
/* Linux 2.6: 1 is free. */
static _Alignas(64) volatile unsigned counter = 1;
static _Alignas(64) volatile unsigned long bits;
static _Alignas(64) long taken, waited;
static pthread_barrier_t begin;
static const char *how;
static int threads;

static int is(const char *name)
{
	return !strcmp(how, name);
}

static void pauses(int times)
{
	for (int i = 0; i < times; i++)
		__builtin_ia32_pause();
}

static int exchange_then_read(void)
{
	int waits = 0;

	while (atomic_exchange(&word, 1)) {
		waits = 1;
		while (atomic_load_explicit(&word, memory_order_relaxed))
			pauses(1);
	}
	return waits;
}

static int compare(void)
{
	int waits = 0;

	for (;;) {
		int expected = 0;

		if (atomic_compare_exchange_strong(&word, &expected, 1))
			return waits;
		waits = 1;
		pauses(1);
	}
}

static int back_off(void)
{
	int waits = 0, times = 1;

	for (;;) {
		int expected = 0;

		if (atomic_compare_exchange_strong(&word, &expected, 1))
			return waits;
		waits = 1;
		pauses(times);
		times = times < 64 ? times * 2 : times;
	}
}

/* Pauses for a time that it draws, which may be twice as long after each attempt. */
static int back_off_by_chance(void)
{
	unsigned chance = (unsigned)taken, most = 2;
	int waits = 0;

	while (atomic_exchange(&word, 1)) {
		waits = 1;
		do {
			chance = chance * 1664525 + 1013904223;
			pauses((int)(chance >> 16) % most + 1);
			most = most < 32 ? most * 2 : most;
		} while (atomic_load_explicit(&word, memory_order_relaxed));
	}
	return waits;
}

/* Computes for longer and longer, as Concurrency Kit's ck_backoff_eb(). */
static inline unsigned computes(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		__asm__ volatile("" ::: "memory");
	return times < 1 << 15 ? times * 2 : times;
}

static int read_and_compute(void)
{
	unsigned times = 512;
	int waits = 0;

	while (atomic_exchange(&word, 1)) {
		waits = 1;
		while (atomic_load_explicit(&word, memory_order_relaxed))
			times = computes(times);
	}
	return waits;
}

static int attempt_and_compute(void)
{
	unsigned times = 512;
	int waits = 0;

	while (atomic_exchange(&word, 1)) {
		waits = 1;
		times = computes(times);
	}
	return waits;
}

static int set_bit(void)
{
	int waits = 0;

	for (;;) {
		unsigned char old;

		__asm__ volatile("lock btsq $5, %0; setc %1" : "+m"(bits), "=q"(old)::"memory", "cc");
		if (!old)
			return waits;
		waits = 1;
		while (bits & 32)
			pauses(1);
	}
}

static int decrement(void)
{
	int waits = 0;

	for (;;) {
		unsigned char free;

		__asm__ volatile("lock decb %0; setns %1" : "+m"(counter), "=q"(free)::"memory", "cc");
		if (free)
			return waits;
		waits = 1;
		while ((signed char)counter <= 0)
			pauses(1);
	}
}

static int take_ticket(void)
{
	unsigned mine = atomic_fetch_add(&next, 1);
	int waits = 0;

	while (atomic_load(&owner) != mine) {
		waits = 1;
		pauses(1);
	}
	return waits;
}

/* The longer the queue, the later the next look: most find another owner. */
static int take_ticket_and_back_off(void)
{
	unsigned mine = atomic_fetch_add(&next, 1), now;
	int waits = 0;

	while ((now = atomic_load(&owner)) != mine) {
		waits = 1;
		pauses((int)(mine - now) * 8);
	}
	return waits;
}

static int take(void)
{
	if (is("exchange"))
		return exchange_then_read();
	if (is("compare"))
		return compare();
	if (is("backoff"))
		return back_off();
	if (is("bit"))
		return set_bit();
	if (is("decrement"))
		return decrement();
	if (is("ticket"))
		return take_ticket();
	if (is("chance"))
		return back_off_by_chance();
	if (is("proportional"))
		return take_ticket_and_back_off();
	if (is("reads"))
		return read_and_compute();
	if (is("attempts"))
		return attempt_and_compute();
	return exchange_then_read();
}

static void release(void)
{
	if (is("bit"))
		__asm__ volatile("lock btrq $5, %0" : "+m"(bits)::"memory", "cc");
	else if (is("decrement"))
		__asm__ volatile("movb $1, %0" : "+m"(counter)::"memory");
	else if (is("ticket") || is("proportional"))
		atomic_store_explicit(&owner, owner + 1, memory_order_release);
	else if (is("ordered"))
		atomic_store(&word, 0);
	else
		atomic_store_explicit(&word, 0, memory_order_release);
}

static void *work(void *argument)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < TURNS; i++) {
		int waits = take();

		for (volatile int k = 0; k < 100; k++)
			;
		taken++;
		waited += waits;
		release();
		for (volatile int k = 0; k < 500; k++)
			;
	}
	return argument;
}

int main(int count, char **arguments)
{
	pthread_t thread[MOST];

	threads = count > 1 ? atoi(arguments[1]) : 1;
	how = count > 2 ? arguments[2] : "exchange";
	pthread_barrier_init(&begin, NULL, threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld %ld\n", taken, waited);
	return taken != (long)threads * TURNS;
}
