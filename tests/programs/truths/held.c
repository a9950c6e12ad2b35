/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * held THREADS HOW: what threads wait for while they hold a lock.
 * twice: a reader takes its lock twice, and waits for another once each time; spun: threads spin on a flag while they hold
 * nothing, and look at it once more under a lock; spinlock: who holds a mutex waits for a spin lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, MOST = 128 };

static _Alignas(64) pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(64) pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) pthread_spinlock_t spun;
static _Alignas(64) atomic_int flag;
static _Alignas(64) atomic_int done;
static pthread_barrier_t begin;
static int threads;

static void busy(int cycles)
{
	for (int i = 0; i < cycles; i++)
		__asm__ volatile("");
}

static void *twice(void *number)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		if ((long)number == 0) {
			pthread_rwlock_rdlock(&readers);
			pthread_rwlock_rdlock(&readers);
			pthread_mutex_lock(&inner);
			pthread_mutex_unlock(&inner);
			pthread_rwlock_unlock(&readers);
			pthread_rwlock_unlock(&readers);
		} else {
			pthread_mutex_lock(&inner);
			busy(30000);
			pthread_mutex_unlock(&inner);
		}
		busy(1000);
	}
	return NULL;
}

static void *after_spin(void *number)
{
	pthread_barrier_wait(&begin);
	for (int i = 1; i <= ROUNDS; i++) {
		if ((long)number == 0) {
			busy(20000);
			atomic_store(&flag, i);
			while (atomic_load(&done) < i * (threads - 1))
				;
			continue;
		}
		while (atomic_load(&flag) < i)
			;
		pthread_mutex_lock(&outer);
		while (atomic_load(&flag) < i)
			;
		pthread_mutex_unlock(&outer);
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

static void *of_spinlock(void *number)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		if ((long)number % 2 == 0)
			pthread_mutex_lock(&outer);
		pthread_spin_lock(&spun);
		busy(5000);
		pthread_spin_unlock(&spun);
		if ((long)number % 2 == 0)
			pthread_mutex_unlock(&outer);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread[MOST];
	void *(*work)(void *) = twice;

	if (count < 3)
		return 2;
	threads = atoi(arguments[1]);
	if (!strcmp(arguments[2], "spun"))
		work = after_spin;
	else if (!strcmp(arguments[2], "spinlock"))
		work = of_spinlock;
	pthread_spin_init(&spun, 0);
	pthread_barrier_init(&begin, NULL, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
