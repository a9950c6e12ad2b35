/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Readers take and release a reader-writer lock. Build with -DHOLD=N for N microseconds in between, which a reader waits for one
// by one.
//
// The lock is that of glibc before 2.25: its counts are guarded by a lock of their own, for which a thread that finds it taken
// sleeps. The source does not name the version; its numbers do. A pair takes one thread 5.7 times as long as an atomic addition
// takes it on that machine. On a server of 2023 it is 3.2 times with glibc 2.36, whose readers make two locked operations, and
// 5.3 times with this lock, which makes four. And where readers hold the lock for 9 us, from 10 threads on each one more adds
// 1.2 us to the time of all, some twenty transfers of a line: a thread is woken for each pair.
#include "../workload.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	/* 0: free; 1: taken; 2: taken, and others may sleep. */
	_Alignas(64) atomic_int guard;
	unsigned readers, waiting_readers, waiting_writers;
	int writer;
} lock;

static void prepare(int threads) { (void)threads; }

static __attribute__((noinline)) void sleep_for_guard(int seen)
{
	if (seen == 2)
		syscall(SYS_futex, &lock.guard, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	while (atomic_exchange_explicit(&lock.guard, 2, memory_order_acquire))
		syscall(SYS_futex, &lock.guard, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void take_guard(void)
{
	int seen = 0;

	if (!atomic_compare_exchange_strong_explicit(&lock.guard, &seen, 1, memory_order_acquire, memory_order_relaxed))
		sleep_for_guard(seen);
}

static inline void leave_guard(void)
{
	if (atomic_fetch_sub_explicit(&lock.guard, 1, memory_order_release) != 1) {
		atomic_store_explicit(&lock.guard, 0, memory_order_release);
		syscall(SYS_futex, &lock.guard, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static __attribute__((noinline)) int read_lock(void)
{
	int error = EAGAIN;

	take_guard();
	if (!lock.writer && !lock.waiting_writers) {
		lock.readers++;
		error = 0;
	}
	leave_guard();
	return error;
}

static __attribute__((noinline)) int read_unlock(void)
{
	int error = EPERM;

	take_guard();
	if (lock.readers && (--lock.readers || !(lock.waiting_readers | lock.waiting_writers)))
		error = 0;
	leave_guard();
	return error;
}

static void hold(void)
{
#ifdef HOLD
	for (int i = 0; i < HOLD; i++)
		for (long from = now_ns(); now_ns() - from < 1000;)
			;
#endif
}

static void work(int thread, long operations)
{
	(void)thread;
	while (operations--) {
		if (read_lock())
			abort();
		hold();
		if (read_unlock())
			abort();
	}
}
