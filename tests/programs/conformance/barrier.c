/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"

enum { THREADS = 4, ROUNDS = 50 };

static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static int arrived, serial, early;
static long counter;

static void *meet(void *unused)
{
	for (int round = 1; round <= ROUNDS; round++) {
		__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
		int code = pthread_barrier_wait(&barrier);
		if (code == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < round * THREADS)
			__atomic_fetch_add(&early, 1, __ATOMIC_SEQ_CST);
	}
	return unused;
}

static void *try_spin(void *unused)
{
	int code = pthread_spin_trylock(&spin);

	(void)unused;
	if (code == 0)
		pthread_spin_unlock(&spin);
	return (void *)(intptr_t)code;
}

static void *count(void *unused)
{
	for (int i = 0; i < 500; i++) {
		pthread_spin_lock(&spin);
		counter++;
		pthread_spin_unlock(&spin);
	}
	return unused;
}

static void in_four(void *(*body)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = begin(body, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	pthread_barrierattr_t attr;
	int shared = -1;

	SAYS("pthread_barrier_init 3", "refuses a count of none", pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
	SAYS("pthread_barrier_init 1,2", "succeeds", pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	in_four(meet);
	SAYS("pthread_barrier_wait 1,4", "lets nobody go on before all are there", early == 0);
	SAYS("pthread_barrier_wait 2,5", "tells one a round that it is the one", serial == ROUNDS);
	SAYS("pthread_barrier_destroy 1,3", "succeeds, and it can be made again", !pthread_barrier_destroy(&barrier) && !pthread_barrier_init(&barrier, NULL, 1));
	SAYS("pthread_barrier_wait", "with a count of one, waits for nobody", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
	SAYS("pthread_barrierattr_init 1,3", "succeeds", pthread_barrierattr_init(&attr) == 0);
	SAYS("pthread_barrierattr_getpshared 1,3", "is private at first", !pthread_barrierattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_PRIVATE);
	SAYS("pthread_barrierattr_setpshared 1,3", "is kept", !pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) && !pthread_barrierattr_getpshared(&attr, &shared) && shared == PTHREAD_PROCESS_SHARED);
	SAYS("pthread_barrierattr_setpshared 2", "refuses what is neither", pthread_barrierattr_setpshared(&attr, 7) == EINVAL);
	SAYS("pthread_barrierattr_destroy 2", "succeeds", pthread_barrierattr_destroy(&attr) == 0);

	SAYS("pthread_spin_init 1,3 pthread_spin_trylock 1,2", "gives a free lock", !pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) && !elsewhere(try_spin, NULL));
	SAYS("pthread_spin_lock 2", "gets it", pthread_spin_lock(&spin) == 0);
	SAYS("pthread_spin_trylock 3", "fails while another has it", elsewhere(try_spin, NULL) == EBUSY);
	SAYS("pthread_spin_unlock 1,2", "lets it go", !pthread_spin_unlock(&spin) && !elsewhere(try_spin, NULL));
	in_four(count);
	SAYS("pthread_spin_lock 1", "lets one in at a time", counter == 4 * 500);
	SAYS("pthread_spin_destroy 1,2", "succeeds", pthread_spin_destroy(&spin) == 0);
	return 0;
}
