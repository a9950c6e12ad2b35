/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that no signal disturbs, however many come. */
#define _GNU_SOURCE
#include "handlers.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static pthread_key_t key;
static volatile int storm_over;

static int lock_mutex(void) { return pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex); }

static int read_lock(void) { return pthread_rwlock_rdlock(&lock) || pthread_rwlock_unlock(&lock); }

static int write_lock(void) { return pthread_rwlock_wrlock(&lock) || pthread_rwlock_unlock(&lock); }

static int spin_once(void) { return pthread_spin_lock(&spin) || pthread_spin_unlock(&spin); }

static void *storm(void *thread)
{
	while (!storm_over) {
		pthread_kill(*(pthread_t *)thread, SIGUSR2);
		usleep(100);
	}
	return NULL;
}

static void *nothing(void *argument) { return argument; }

static int create_and_join(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static int create_and_detach(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_detach(thread);
}

static int signal_it(void) { return pthread_cond_signal(&cond) || pthread_cond_broadcast(&cond); }

static int post_and_wait(void) { return sem_post(&sem) || sem_trywait(&sem); }

static int make_key(void) { return pthread_key_create(&key, NULL) || pthread_setspecific(key, &key) || pthread_key_delete(key); }

static int mask_it(void) { return block(SIG_BLOCK, SIGUSR1, 0) || block(SIG_UNBLOCK, SIGUSR1, 0); }

static int kill_nothing(void) { return pthread_kill(pthread_self(), 0); }

static int make_all(void)
{
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t lock;

	return pthread_mutex_init(&mutex, NULL) || pthread_mutex_destroy(&mutex) || pthread_cond_init(&cond, NULL) || pthread_cond_destroy(&cond)
		|| pthread_rwlock_init(&lock, NULL) || pthread_rwlock_destroy(&lock);
}

/* A handler runs again and again meanwhile. */
static int is_steady(int (*call)(void))
{
	int from = caught, wrong = 0;

	for (int i = 0; i < 100000 && (i < 40 || caught < from + 3); i++) {
		wrong += call() != 0;
		if (i % 10 == 0)
			usleep(20);
	}
	return !wrong && caught >= from + 3;
}

static void in_a_storm(void)
{
	pthread_t self = pthread_self();

	handle(SIGUSR2, count, SA_RESTART, 0);
	pthread_t thread = begin(storm, &self);
	SAYS("pthread_create 14 pthread_join 6", "is not disturbed by signals", is_steady(create_and_join));
	SAYS("pthread_detach 4", "is not disturbed by signals", is_steady(create_and_detach));
	SAYS("pthread_cond_signal 5 pthread_cond_broadcast 5", "is not disturbed by signals", is_steady(signal_it));
	SAYS("sem_post 5", "is not disturbed by signals", is_steady(post_and_wait));
	SAYS("pthread_mutex_lock 3 pthread_mutex_unlock 4", "is not disturbed by signals", is_steady(lock_mutex));
	SAYS("pthread_rwlock_rdlock 6 pthread_rwlock_unlock 4", "is not disturbed by signals", is_steady(read_lock));
	SAYS("pthread_rwlock_wrlock 3", "is not disturbed by signals", is_steady(write_lock));
	SAYS("pthread_spin_lock 2", "is not disturbed by signals", is_steady(spin_once));
	SAYS("pthread_key_create 5 pthread_key_delete 3", "is not disturbed by signals", is_steady(make_key));
	SAYS("pthread_sigmask 18", "is not disturbed by signals", is_steady(mask_it));
	SAYS("pthread_kill 8", "is not disturbed by signals", is_steady(kill_nothing));
	SAYS("pthread_mutex_init 4 pthread_mutex_destroy 4 pthread_rwlock_destroy 2", "is not disturbed by signals", is_steady(make_all));
	storm_over = 1;
	pthread_join(thread, NULL);
}

int main(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&sem, 0, 0);
	in_a_storm();
	return 0;
}
