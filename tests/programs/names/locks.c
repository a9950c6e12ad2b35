/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that fight for one object of every kind, all in one structure on the heap: locks THREADS ROUNDS */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct office {
	pthread_mutex_t door __attribute__((aligned(64)));
	pthread_rwlock_t files __attribute__((aligned(64)));
	pthread_spinlock_t desk __attribute__((aligned(64)));
	sem_t chairs __attribute__((aligned(64)));
	pthread_barrier_t lunch __attribute__((aligned(64)));
	/* One for each kind of lock that excludes others. */
	long visits[3] __attribute__((aligned(64)));
};

static struct office *office;
static int rounds;

static void *visit(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&office->door);
		office->visits[0]++;
		pthread_mutex_unlock(&office->door);
		pthread_rwlock_wrlock(&office->files);
		office->visits[1]++;
		pthread_rwlock_unlock(&office->files);
		pthread_rwlock_rdlock(&office->files);
		pthread_rwlock_unlock(&office->files);
		pthread_spin_lock(&office->desk);
		office->visits[2]++;
		pthread_spin_unlock(&office->desk);
		sem_wait(&office->chairs);
		sem_post(&office->chairs);
		pthread_barrier_wait(&office->lunch);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t visitors[80];
	int n = argc == 3 ? atoi(argv[1]) : 0;

	if (n < 1 || n > 80)
		return 2;
	rounds = atoi(argv[2]);
	office = aligned_alloc(64, sizeof(struct office));
	pthread_mutex_init(&office->door, NULL);
	pthread_rwlock_init(&office->files, NULL);
	pthread_spin_init(&office->desk, PTHREAD_PROCESS_PRIVATE);
	sem_init(&office->chairs, 0, 2);
	pthread_barrier_init(&office->lunch, NULL, n);
	office->visits[0] = office->visits[1] = office->visits[2] = 0;
	for (int i = 0; i < n; i++)
		pthread_create(&visitors[i], NULL, visit, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(visitors[i], NULL);
	for (int kind = 0; kind < 3; kind++)
		if (office->visits[kind] != (long)n * rounds)
			return 1;
	return 0;
}
