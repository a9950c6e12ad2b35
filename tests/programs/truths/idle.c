/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that have nothing to run: idle THREADS after|never|sleep. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int jobs, finished, stop;

static void compute(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

/* after: each worker has one job, then main works alone; never: no worker has any. */
static void *worker(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!jobs && !stop)
			pthread_cond_wait(&work, &mutex);
		if (!jobs)
			break;
		jobs--;
		pthread_mutex_unlock(&mutex);
		compute(50000);
		pthread_mutex_lock(&mutex);
		finished++;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* sleep: all begin together, and then sleep far longer than they waited for that. */
static void *sleeper(void *thread)
{
	pthread_barrier_wait(&barrier);
	usleep(200 * (unsigned)(long)thread);
	return NULL;
}

static void give_out(int threads)
{
	pthread_mutex_lock(&mutex);
	jobs = threads;
	pthread_cond_broadcast(&work);
	while (finished < threads)
		pthread_cond_wait(&done, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void end(void)
{
	pthread_mutex_lock(&mutex);
	stop = 1;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_t others[64];
	int threads = argc == 3 ? atoi(argv[1]) : 0;
	int sleeps = threads && !strcmp(argv[2], "sleep");

	if (threads < 1 || threads > 64)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&others[i], NULL, sleeps ? sleeper : worker, (void *)(i + 1)))
			return 3;
	if (!strcmp(argv[2], "after"))
		give_out(threads);
	if (!sleeps)
		compute(800000);
	end();
	for (int i = 0; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
