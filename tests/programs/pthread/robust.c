/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Robust mutexes, as LMDB has them in a mapped file: an owner that ends is told of, and what then. */
#define _GNU_SOURCE
#include "threads.h"
#include <sys/mman.h>

static pthread_mutex_t *mutex;
static int taken;

static void make(void) {
	pthread_mutexattr_t attr;
	RETURNS(0, pthread_mutexattr_init(&attr));
	RETURNS(0, pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	RETURNS(0, pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	RETURNS(0, pthread_mutex_init(mutex, &attr));
}

static void *end_with_it(void *arg) {
	RETURNS(0, pthread_mutex_lock(mutex));
	__atomic_store_n(&taken, 1, __ATOMIC_SEQ_CST);
	if (arg) {
		struct timespec a_while = {0, 2000000};
		nanosleep(&a_while, NULL);
	}
	return NULL;
}

static void owner_ends(void) {
	pthread_t owner;
	RETURNS(0, pthread_create(&owner, NULL, end_with_it, NULL));
	RETURNS(0, pthread_join(owner, NULL));
	RETURNS(EOWNERDEAD, pthread_mutex_lock(mutex));
	RETURNS(0, pthread_mutex_consistent(mutex));
	RETURNS(EINVAL, pthread_mutex_consistent(mutex));
	RETURNS(0, pthread_mutex_unlock(mutex));
	RETURNS(0, pthread_mutex_lock(mutex));
	RETURNS(0, pthread_mutex_unlock(mutex));
	RETURNS(EPERM, pthread_mutex_unlock(mutex));
	puts("the next owner is told, once");
}

static void owner_ends_while_waited_for(void) {
	pthread_t owner;
	taken = 0;
	RETURNS(0, pthread_create(&owner, NULL, end_with_it, mutex));
	while (!__atomic_load_n(&taken, __ATOMIC_SEQ_CST))
		sched_yield();
	RETURNS(EOWNERDEAD, pthread_mutex_lock(mutex));
	RETURNS(0, pthread_join(owner, NULL));
	RETURNS(0, pthread_mutex_unlock(mutex));
	RETURNS(ENOTRECOVERABLE, pthread_mutex_lock(mutex));
	RETURNS(ENOTRECOVERABLE, pthread_mutex_trylock(mutex));
	RETURNS(0, pthread_mutex_destroy(mutex));
	puts("a waiter is told; left inconsistent, it is of no use");
}

int main(void) {
	mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mutex != MAP_FAILED);
	make();
	owner_ends();
	owner_ends_while_waited_for();
	return 0;
}
