/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spinlocks, with as many threads as there are CPUs and with more. */
#define _GNU_SOURCE
#include "threads.h"

enum { ROUNDS = 1000 };
static pthread_spinlock_t lock;
static int threads;
static long counter;

static void *count(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS / threads; i++) {
		RETURNS(0, pthread_spin_lock(&lock));
		counter++;
		RETURNS(0, pthread_spin_unlock(&lock));
	}
	return NULL;
}

static void *try_held(void *arg) {
	(void)arg;
	RETURNS(EBUSY, pthread_spin_trylock(&lock));
	return NULL;
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	lock = (pthread_spinlock_t)0x5a5a5a5a;
	RETURNS(0, pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
	in_threads(threads, count);
	CHECK(counter == ROUNDS / threads * threads);
	puts("spinlocks exclude");
	RETURNS(0, pthread_spin_trylock(&lock));
	in_threads(2, try_held);
	RETURNS(0, pthread_spin_unlock(&lock));
	RETURNS(0, pthread_spin_trylock(&lock));
	RETURNS(0, pthread_spin_unlock(&lock));
	RETURNS(0, pthread_spin_destroy(&lock));
	puts("a held one is busy");
	return 0;
}
