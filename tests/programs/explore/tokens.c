/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Each token is signalled to one waiter. Some waiters wait for a short time only, and one is cancelled:
 * no signal may be lost with them.
 */
#include <pthread.h>
#include <time.h>

enum { EACH = 6, PER_THREAD = 6 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int tokens, taken;

static void unlock(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&mutex);
}

static void wait_shortly(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 1500;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&more, &mutex, &until);
}

static void *consumer(void *number)
{
	for (int i = 0; i < PER_THREAD; i++) {
		pthread_mutex_lock(&mutex);
		while (!tokens) {
			if ((long)number % 3 == 0)
				wait_shortly();
			else
				pthread_cond_wait(&more, &mutex);
		}
		tokens--;
		taken++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *producer(void *number)
{
	for (int i = 0; i < PER_THREAD; i++) {
		const int inside = (long)number & 1;

		pthread_mutex_lock(&mutex);
		tokens++;
		if (inside)
			pthread_cond_signal(&more);
		pthread_mutex_unlock(&mutex);
		if (!inside)
			pthread_cond_signal(&more);
	}
	return NULL;
}

/* What it was woken for is for another. */
static void *cancelled(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	for (;;) {
		pthread_cond_wait(&more, &mutex);
		if (tokens)
			pthread_cond_signal(&more);
	}
	pthread_cleanup_pop(1);
	return unused;
}

int main(void)
{
	pthread_t all[2 * EACH], other;

	pthread_create(&other, NULL, cancelled, NULL);
	for (long i = 0; i < 2 * EACH; i++)
		pthread_create(&all[i], NULL, i < EACH ? consumer : producer, (void *)i);
	pthread_cancel(other);
	pthread_join(other, NULL);
	for (int i = 0; i < 2 * EACH; i++)
		pthread_join(all[i], NULL);
	pthread_cond_destroy(&more);
	return taken != EACH * PER_THREAD;
}
