/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits whose time-outs and wake-ups come at about the same time: none is lost, none counts twice. */
#define _GNU_SOURCE
#include "threads.h"
#include <semaphore.h>

enum { ROUNDS = 200 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, short_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static sem_t sem;
static int threads, tokens, inside;
static long given, taken, posted, got;

/* From none to about five microseconds: a wake-up takes about three. */
static struct timespec soon(unsigned *random)
{
	*random = *random * 1103515245 + 12345;
	return from_now(CLOCK_REALTIME, *random / 65536 % 5000);
}

static void signal_or_wait(unsigned *random)
{
	struct timespec until = soon(random);
	RETURNS(0, pthread_mutex_lock(&mutex));
	if (*random / 4096 % 2) {
		tokens++;
		given++;
		RETURNS(0, pthread_cond_signal(&cond));
	} else {
		while (tokens == 0)
			if (pthread_cond_timedwait(&cond, &mutex, &until) == ETIMEDOUT)
				break;
		if (tokens > 0) {
			tokens--;
			taken++;
		}
	}
	RETURNS(0, pthread_mutex_unlock(&mutex));
}

static void post_or_wait(unsigned *random)
{
	struct timespec until = soon(random);
	if (*random / 4096 % 2) {
		__atomic_fetch_add(&posted, 1, __ATOMIC_SEQ_CST);
		CHECK(sem_post(&sem) == 0);
	} else if (sem_timedwait(&sem, &until) == 0) {
		__atomic_fetch_add(&got, 1, __ATOMIC_SEQ_CST);
	} else {
		CHECK(errno == ETIMEDOUT);
	}
}

static void lock_in_time(unsigned *random)
{
	struct timespec until = soon(random);
	int code = pthread_mutex_timedlock(&short_lock, &until);
	CHECK(code == 0 || code == ETIMEDOUT);
	if (code == 0) {
		CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) == 0);
		__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
		RETURNS(0, pthread_mutex_unlock(&short_lock));
	}
}

static void read_or_write_in_time(pthread_rwlock_t *lock, unsigned *random, int *count)
{
	struct timespec until = soon(random);
	int writes = *random / 4096 % 3 == 0;
	int code = writes ? pthread_rwlock_timedwrlock(lock, &until) : pthread_rwlock_timedrdlock(lock, &until);
	CHECK(code == 0 || code == ETIMEDOUT);
	if (code != 0)
		return;
	/* The high half counts writers, the low one readers. */
	int one = writes ? 0x10000 : 1;
	int found = __atomic_fetch_add(count, one, __ATOMIC_SEQ_CST);
	CHECK(writes ? found == 0 : found < 0x10000);
	__atomic_fetch_sub(count, one, __ATOMIC_SEQ_CST);
	RETURNS(0, pthread_rwlock_unlock(lock));
}

static void *work(void *arg)
{
	static int holders, more_holders;
	unsigned random = (unsigned)(intptr_t)arg * 7919 + 1;
	for (int i = 0; i < ROUNDS; i++) {
		signal_or_wait(&random);
		post_or_wait(&random);
		lock_in_time(&random);
		read_or_write_in_time(&rwlock, &random, &holders);
		read_or_write_in_time(&writers_first, &random, &more_holders);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int left;
	threads = thread_count(argc, argv, 16);
	CHECK(sem_init(&sem, 0, 0) == 0);
	in_threads(threads, work);
	CHECK(given == taken + tokens);
	CHECK(sem_getvalue(&sem, &left) == 0 && posted == got + left);
	RETURNS(0, pthread_mutex_trylock(&short_lock));
	RETURNS(0, pthread_rwlock_trywrlock(&rwlock));
	RETURNS(0, pthread_rwlock_trywrlock(&writers_first));
	RETURNS(0, pthread_cond_destroy(&cond));
	puts("none is lost");
	return 0;
}
