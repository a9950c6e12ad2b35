/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The scheduler of Go 1.0, as "Scalable Go Scheduler Design Doc" (Vyukov, 2012) describes it: one global queue of
// runnable goroutines under one mutex, taken each time that one is put back and the next is fetched.
// The twin follows the document: each processor has a queue of its own.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define GOROUTINES 4	/* for each processor */

struct g {
	_Alignas(128) struct g *schedlink;
	uint64_t state;
	long slices;
};

struct runq {
	struct g *head, *tail;
};

struct sched {
	_Alignas(128) pthread_mutex_t lock;
	struct runq runq;
};

struct p {
	_Alignas(128) struct runq runq;
	pthread_t id;
	long slices;
};

static pthread_barrier_t start;
#ifndef TWIN
static struct sched runtime_sched = { .lock = PTHREAD_MUTEX_INITIALIZER };
#endif

static void put(struct runq *runq, struct g *g)
{
	g->schedlink = NULL;
	if (runq->tail)
		runq->tail->schedlink = g;
	else
		runq->head = g;
	runq->tail = g;
}

static struct g *get(struct runq *runq)
{
	struct g *g = runq->head;

	runq->head = g->schedlink;
	if (!runq->head)
		runq->tail = NULL;
	return g;
}

// Puts the goroutine that has run, if any, at the end and returns the next one.
__attribute__((noinline)) static struct g *schedule(struct p *p, struct g *ran)
{
	struct runq *runq = &p->runq;
	struct g *next;

#ifndef TWIN
	runq = &runtime_sched.runq;
	pthread_mutex_lock(&runtime_sched.lock);
#endif
	if (ran)
		put(runq, ran);
	next = get(runq);
#ifndef TWIN
	pthread_mutex_unlock(&runtime_sched.lock);
#endif
	return next;
}

__attribute__((noinline)) static void run(struct g *g)
{
	uint64_t state = g->state;

	for (int i = 0; i < 32; i++)
		state = (state ^ state >> 31) * 0x9e3779b97f4a7c15u;
	g->state = state;
	g->slices++;
}

static void *processor(void *argument)
{
	struct p *p = argument;
	struct g *g = NULL;

	pthread_barrier_wait(&start);
	for (long i = 0; i < p->slices; i++) {
		g = schedule(p, g);
		run(g);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000, slices = 0;
	struct p *ps = aligned_alloc(128, (size_t)threads * sizeof *ps);
	struct g *all = aligned_alloc(128, (size_t)threads * GOROUTINES * sizeof *all);

	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		ps[t] = (struct p) { .slices = work * (t + 1) / threads - work * t / threads };
		for (int i = t * GOROUTINES; i < (t + 1) * GOROUTINES; i++) {
			all[i] = (struct g) { .state = (uint64_t)i + 1 };
#ifdef TWIN
			put(&ps[t].runq, &all[i]);
#else
			put(&runtime_sched.runq, &all[i]);
#endif
		}
	}
	for (int t = 0; t < threads; t++)
		pthread_create(&ps[t].id, NULL, processor, &ps[t]);
	for (int t = 0; t < threads; t++)
		pthread_join(ps[t].id, NULL);
	for (int i = 0; i < threads * GOROUTINES; i++)
		slices += all[i].slices;
	printf("%ld time slices\n", slices);
	return slices != work;
}
