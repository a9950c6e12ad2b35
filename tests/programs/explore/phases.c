/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Readers and writers of every kind at one lock, some for a short time only: a writer is alone, and whoever
 * waits gets the lock some time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { THREADS = 10, TURNS = 30 };
#ifdef PREFER_WRITERS
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#else
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#endif
static volatile int writers, readers, wrong;

static struct timespec soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 800;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

static void read_if(int refused)
{
	if (refused) {
		wrong |= refused != EBUSY && refused != ETIMEDOUT;
		return;
	}
	__atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
	wrong |= writers != 0;
	__atomic_sub_fetch(&readers, 1, __ATOMIC_SEQ_CST);
	pthread_rwlock_unlock(&lock);
}

static void write_if(int refused)
{
	if (refused) {
		wrong |= refused != EBUSY && refused != ETIMEDOUT;
		return;
	}
	writers++;
	wrong |= writers != 1 || readers != 0;
	writers--;
	pthread_rwlock_unlock(&lock);
}

static void *take_turns(void *number)
{
	for (int turn = 0; turn < TURNS; turn++) {
		const struct timespec until = soon();

		switch (((long)number * 7 + turn * 5) % 6) {
		case 0:
		case 1:
			read_if(pthread_rwlock_rdlock(&lock));
			break;
		case 2:
			read_if(pthread_rwlock_timedrdlock(&lock, &until));
			break;
		case 3:
			write_if(pthread_rwlock_timedwrlock(&lock, &until));
			break;
		case 4:
			write_if(pthread_rwlock_trywrlock(&lock));
			read_if(pthread_rwlock_tryrdlock(&lock));
			break;
		default:
			write_if(pthread_rwlock_wrlock(&lock));
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return wrong;
}
