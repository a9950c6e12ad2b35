/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One thread takes and releases what nobody else wants: uncontended mutex | rwlock | spinlock | semaphore ROUNDS.
   mutex-threads: where there has been another thread. */
#include <corefold.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static sem_t semaphore;

static void take_and_release(char what)
{
	switch (what) {
	case 'm':
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		break;
	case 'r':
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		break;
	case 's':
		sem_wait(&semaphore);
		sem_post(&semaphore);
		break;
	default:
		pthread_spin_lock(&spinlock);
		pthread_spin_unlock(&spinlock);
	}
}

static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	char what = strcmp(argv[1], "spinlock") ? argv[1][0] : 'S';
	int rounds = atoi(argv[2]);

	if (strchr(argv[1], '-')) {
		pthread_t thread;

		pthread_create(&thread, NULL, nothing, NULL);
		pthread_join(thread, NULL);
	}
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	sem_init(&semaphore, 0, 1);
	take_and_release(what);
	corefold_region_begin();
	for (int i = 0; i < rounds; i++)
		take_and_release(what);
	corefold_region_end();
	return 0;
}
