/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pthread_once: once, also inside another, also when the first to come ends its thread in the routine. */
#define _GNU_SOURCE
#include "threads.h"

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT, broken = PTHREAD_ONCE_INIT;
static int outer_runs, inner_runs, attempts, ended;

static void run_inner(void) { inner_runs++; }

static void run_outer(void) {
	struct timespec a_while = {0, 1000000};
	RETURNS(0, pthread_once(&inner, run_inner));
	nanosleep(&a_while, NULL);
	outer_runs++;
}

static void *once(void *arg) {
	(void)arg;
	RETURNS(0, pthread_once(&outer, run_outer));
	CHECK(outer_runs == 1 && inner_runs == 1);
	RETURNS(0, pthread_once(&inner, run_inner));
	return NULL;
}

static void end_first(void) {
	if (attempts++ == 0) {
		__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
		pthread_exit(NULL);
	}
}

static void *try_broken(void *arg) {
	(void)arg;
	RETURNS(0, pthread_once(&broken, end_first));
	return NULL;
}

int main(int argc, char **argv) {
	int threads = thread_count(argc, argv, 8);
	in_threads(threads, once);
	CHECK(outer_runs == 1 && inner_runs == 1);
	puts("once");
	in_threads(threads > 1 ? threads : 2, try_broken);
	CHECK(attempts == 2 && ended == 1);
	puts("once more after one that did not end");
	return 0;
}
