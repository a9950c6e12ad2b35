/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Barriers: nobody goes on before all have come; one of them is told; destroying waits for the last. */
#define _GNU_SOURCE
#include "threads.h"

enum { ROUNDS = 20 };
static pthread_barrier_t *barrier;
static int threads;
static int arrived[ROUNDS], serial[ROUNDS];

static void *rounds(void *arg) {
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_fetch_add(&arrived[i], 1, __ATOMIC_SEQ_CST);
		int result = pthread_barrier_wait(barrier);
		CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
		CHECK(__atomic_load_n(&arrived[i], __ATOMIC_SEQ_CST) == threads);
		if (result == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_fetch_add(&serial[i], 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Whoever is told may destroy it at once. */
static void *last_destroys(void *arg) {
	(void)arg;
	if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		RETURNS(0, pthread_barrier_destroy(barrier));
		memset(barrier, 0xff, sizeof *barrier);
		free(barrier);
	}
	return NULL;
}

int main(int argc, char **argv) {
	threads = thread_count(argc, argv, 8);
	barrier = malloc(sizeof *barrier);
	RETURNS(EINVAL, pthread_barrier_init(barrier, NULL, 0));
	RETURNS(0, pthread_barrier_init(barrier, NULL, threads));
	in_threads(threads, rounds);
	for (int i = 0; i < ROUNDS; i++)
		CHECK(arrived[i] == threads && serial[i] == 1);
	puts("all meet, one is told");
	in_threads(threads, last_destroys);
	puts("the last destroys");
	return 0;
}
