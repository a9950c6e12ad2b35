// SPDX-License-Identifier: MIT OR Apache-2.0
// The validation body of all locks (tests/lock_bodies.h), a thread for each CPU: for `corefold explore`, and for its curve
// over the number of CPUs.
//   locks KIND mix OPERATIONS     every operation of the lock in random order; exit code 1 if two are inside, or one is missing
//   locks KIND queue OPERATIONS   all want it again and again; prints how many were served at most between a thread's call
//                                 and its turn. With a bound (lock_kinds.h) exit code 1 beyond it, in the plain schedule
// OPERATIONS of all threads.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static void wrong(const char *what)
{
	fprintf(stderr, "locks: %s\n", what);
	exit(1);
}
#define WRONG(what) wrong(what)
#include "../lock_bodies.h"

static struct guarded guarded;
static uint64_t seed;
static uint32_t reads;
static bool queues;
static pthread_barrier_t begin CF_LINE_ALIGNED;

static void *thread(void *number)
{
	pthread_barrier_wait(&begin);
	if (queues)
		queue_up(&guarded);
	else
		mix(&guarded, seed ^ (uintptr_t)number * 0x9e3779b97f4a7c15u, reads);
	return NULL;
}

int main(int argc, char **argv)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct lock_kind *kind = argc == 4 ? lock_kind_of(argv[1]) : NULL;
	pthread_t threads[cpus];
	if (!kind || atol(argv[3]) <= 0)
		return fprintf(stderr, "usage: locks KIND mix|queue OPERATIONS\n"), 2;
	queues = !strcmp(argv[2], "queue");
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		wrong("no randomness");
	reads = (uint32_t)(seed >> 7) % 16;
	if (guarded_begin(&guarded, kind, (atol(argv[3]) + cpus - 1) / cpus, queues ? 20 : (long)(seed % 3) * 10))
		wrong("no such lock");
	pthread_barrier_init(&begin, NULL, (unsigned)cpus);
	for (long i = 0; i < cpus; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)i))
			wrong("no thread");
	for (long i = 0; i < cpus; i++)
		pthread_join(threads[i], NULL);
	guarded_end(&guarded);
	if (queues)
		printf("%s: at most %ld served between a call and its turn, for %ld threads\n", kind->name, guarded.most_passed, cpus);
	if (queues && kind->bound && guarded.most_passed > kind->bound * cpus)
		wrong("somebody was passed too often");
	return 0;
}
