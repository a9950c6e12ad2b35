/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Readers take and release a reader-writer lock. Build with -DHOLD=N to hold it for N ticks of a clock of microseconds.
//
// The loop and its data are those of CodeSamples/toolsoftrade/rwlockscale.c of March 2020, which reads its parameters in each
// turn, and the number of ticks before each of them. Which library and which compiler made the program is not published; its
// numbers tell:
// - A pair takes one thread 5.7 times as long as an atomic addition takes it on that machine. On a server of 2023 it is 3.2 times
//   with glibc 2.36, whose readers make two locked operations, and 5.3 times with glibc's lock before 2.25, which makes four: a
//   lock guards its counts, and a thread that finds it taken sleeps.
// - GCC lays initialised variables out in reverse order, and aligns those of 32 bytes or more, such as the lock, to 32. So the
//   parameters lie before the lock, on its line or on the line before, as the linker's start has it (GCC 12 and its linker: on
//   the line before). On the line before, 28 threads take 18 us a pair that holds the lock for 9; on the lock's line, where they
//   wait for their parameter after each tick, 29 us. Published: 34 us.
#include "../workload.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef HOLD
#define HOLD 0
#endif

static struct {
	_Alignas(64) char go;
	int running;
	unsigned long think_ticks, hold_ticks;
	struct {
		/* 0: free; 1: taken; 2: taken, and others may sleep. */
		_Alignas(32) atomic_int guard;
		unsigned readers, waiting_readers, waiting_writers;
		int writer;
	} lock;
} shared;

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))

static void prepare(int threads)
{
	(void)threads;
	shared.go = 1;
	shared.hold_ticks = HOLD;
}

static __attribute__((noinline)) void sleep_for_guard(int seen)
{
	if (seen == 2)
		syscall(SYS_futex, &shared.lock.guard, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	while (atomic_exchange_explicit(&shared.lock.guard, 2, memory_order_acquire))
		syscall(SYS_futex, &shared.lock.guard, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void take_guard(void)
{
	int seen = 0;

	if (!atomic_compare_exchange_strong_explicit(&shared.lock.guard, &seen, 1, memory_order_acquire, memory_order_relaxed))
		sleep_for_guard(seen);
}

static inline void leave_guard(void)
{
	if (atomic_fetch_sub_explicit(&shared.lock.guard, 1, memory_order_release) != 1) {
		atomic_store_explicit(&shared.lock.guard, 0, memory_order_release);
		syscall(SYS_futex, &shared.lock.guard, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static __attribute__((noinline)) int read_lock(void)
{
	int error = EAGAIN;

	take_guard();
	if (!shared.lock.writer && !shared.lock.waiting_writers) {
		shared.lock.readers++;
		error = 0;
	}
	leave_guard();
	return error;
}

static __attribute__((noinline)) int read_unlock(void)
{
	int error = EPERM;

	take_guard();
	if (shared.lock.readers) {
		if (--shared.lock.readers || !(shared.lock.waiting_readers | shared.lock.waiting_writers))
			error = 0;
	}
	leave_guard();
	return error;
}

static void wait_ticks(const unsigned long *ticks)
{
	for (unsigned long i = 0; i < READ_ONCE(*ticks); i++)
		for (long tick = now_ns() / 1000; now_ns() / 1000 == tick;)
			;
}

static void work(int thread, long operations)
{
	(void)thread;
	while (operations-- && READ_ONCE(shared.go)) {
		if (read_lock())
			abort();
		wait_ticks(&shared.hold_ticks);
		if (read_unlock())
			abort();
		wait_ticks(&shared.think_ticks);
	}
}
