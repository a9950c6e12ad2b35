/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that wait for what does not come: waits upgrade | writers | missed | semaphore | barrier | futex |
 * once
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gate {
	char name[16];
	pthread_rwlock_t lock;
	pthread_mutex_t mutex;
	pthread_cond_t opened;
	pthread_barrier_t meeting;
	sem_t tokens;
	unsigned word;
	pthread_once_t once;
};

static struct gate gate = {
	.lock = PTHREAD_RWLOCK_INITIALIZER,
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.opened = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT,
};
static pthread_barrier_t both;

/* Two readers, each of whom wants to write before the other has done reading. */
static void *upgrade(void *unused) {
	pthread_rwlock_rdlock(&gate.lock);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&gate.lock);
	return unused;
}

static void *write_and_leave(void *unused) {
	pthread_rwlock_wrlock(&gate.lock);
	return unused;
}

/* The signal comes before the wait, and no condition says so. */
static void *signal_first(void *unused) {
	pthread_cond_signal(&gate.opened);
	pthread_barrier_wait(&both);
	return unused;
}

static void *wait_then(void *unused) {
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&gate.mutex);
	pthread_cond_wait(&gate.opened, &gate.mutex);
	pthread_mutex_unlock(&gate.mutex);
	return unused;
}

static void *take_two_tokens(void *unused) {
	sem_wait(&gate.tokens);
	sem_wait(&gate.tokens);
	return unused;
}

static void *meet(void *unused) {
	pthread_barrier_wait(&gate.meeting);
	return unused;
}

static void *wait_on_word(void *unused) {
	syscall(SYS_futex, &gate.word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

static void once_within_itself(void) { pthread_once(&gate.once, once_within_itself); }

static void *do_once(void *unused) {
	pthread_once(&gate.once, once_within_itself);
	return unused;
}

static void run_two(void *(*one)(void *), void *(*other)(void *)) {
	pthread_t threads[2];
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, one, NULL);
	pthread_create(&threads[1], NULL, other, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void *(*one)(void *), *(*other)(void *);
	} ways[] = {
		{"upgrade", upgrade, upgrade},      {"writers", write_and_leave, write_and_leave},
		{"missed", signal_first, wait_then}, {"semaphore", take_two_tokens, take_two_tokens},
		{"barrier", meet, meet},            {"futex", wait_on_word, wait_on_word},
		{"once", do_once, do_once},
	};
	sem_init(&gate.tokens, 0, 3);
	pthread_barrier_init(&gate.meeting, NULL, 3);
	for (unsigned i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].name))
			run_two(ways[i].one, ways[i].other);
	return 0;
}
