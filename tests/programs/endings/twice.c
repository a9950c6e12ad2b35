// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two threads take turns, each at another address of the same memory: by a condition variable with its mutex, and by
 * futexes of their own.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS 100

struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int turn;
	atomic_int word;
};

struct thread {
	struct shared *shared;
	int number;
};

static void *takes_turns(void *argument)
{
	struct thread *me = argument;
	struct shared *shared = me->shared;

	for (int i = 0; i < TURNS; i++) {
		int word;

		pthread_mutex_lock(&shared->mutex);
		while (shared->turn % 2 != me->number)
			pthread_cond_wait(&shared->changed, &shared->mutex);
		shared->turn++;
		pthread_cond_broadcast(&shared->changed);
		pthread_mutex_unlock(&shared->mutex);
		while ((word = atomic_load(&shared->word)) % 2 != me->number)
			syscall(SYS_futex, &shared->word, FUTEX_WAIT, word, NULL, NULL, 0);
		atomic_fetch_add(&shared->word, 1);
		syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

int main(void)
{
	struct thread threads[2];
	pthread_t handles[2];
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;
	int fd = memfd_create("twice", 0);

	if (ftruncate(fd, 4096) != 0)
		return 2;
	for (int i = 0; i < 2; i++) {
		threads[i].shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		threads[i].number = i;
	}
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&threads[0].shared->mutex, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&threads[0].shared->changed, &cond);
	for (int i = 0; i < 2; i++)
		pthread_create(&handles[i], NULL, takes_turns, &threads[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(handles[i], NULL);
	printf("%d %d\n", threads[0].shared->turn, threads[1].shared->word);
	return 0;
}
