/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HAProxy's scheduler before its commit 8d8747abe09b: the roots of the threads' run queues lie in one array, their
 * lengths in another, so that several threads write each cache line, each its own element.
 * Twin: one structure for each thread, on a line of its own (the published fix). task_per_thread THREADS TASKS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THREADS = 80, TASKS = 16 };

struct task {
	struct task *next;
	unsigned long state;
	long calls;
};

struct list {
	struct task *first, **last;
};

#ifdef TWIN
static struct {
	_Alignas(64) struct list task_list;
	int task_list_size;
} task_per_thread[MAX_THREADS];
#define LIST(tid) task_per_thread[tid].task_list
#define SIZE(tid) task_per_thread[tid].task_list_size
#else
static _Alignas(64) struct list task_list[MAX_THREADS];
static _Alignas(64) int task_list_size[MAX_THREADS];
#define LIST(tid) task_list[tid]
#define SIZE(tid) task_list_size[tid]
#endif

static _Thread_local int tid;
static long runs;
static int nbthread;

static __attribute__((noinline)) void task_wakeup(struct task *t)
{
	struct list *list = &LIST(tid);

	t->next = NULL;
	*list->last = t;
	list->last = &t->next;
	SIZE(tid)++;
}

static __attribute__((noinline)) struct task *next_task(void)
{
	struct list *list = &LIST(tid);
	struct task *t = list->first;

	list->first = t->next;
	if (!list->first)
		list->last = &list->first;
	SIZE(tid)--;
	return t;
}

static void process(struct task *t)
{
	for (int i = 0; i < 14; i++) {
		t->state = t->state * 6364136223846793005UL + 1442695040888963407UL;
		t->state ^= t->state >> 31;
	}
	t->calls++;
}

static void *run_poll_loop(void *number)
{
	long mine = runs * ((long)number + 1) / nbthread - runs * (long)number / nbthread, calls = 0;
	struct task *tasks = aligned_alloc(64, TASKS * sizeof *tasks);

	tid = (int)(long)number;
	LIST(tid).last = &LIST(tid).first;
	for (int i = 0; i < TASKS; i++) {
		tasks[i] = (struct task){ .state = (unsigned long)i };
		task_wakeup(&tasks[i]);
	}
	for (long i = 0; i < mine; i++) {
		struct task *t = next_task();

		process(t);
		task_wakeup(t);
	}
	for (int i = 0; i < TASKS; i++)
		calls += tasks[i].calls;
	free(tasks);
	return (void *)calls;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS];
	long calls = 0, queued = 0;

	nbthread = argc > 1 ? atoi(argv[1]) : 2;
	runs = argc > 2 ? atol(argv[2]) : 100000;
	if (nbthread < 1 || nbthread > MAX_THREADS)
		return 2;
	for (long i = 0; i < nbthread; i++)
		pthread_create(&thread[i], NULL, run_poll_loop, (void *)i);
	for (int i = 0; i < nbthread; i++) {
		void *one;

		pthread_join(thread[i], &one);
		calls += (long)one;
		queued += SIZE(i);
	}
	printf("%ld calls, %ld tasks queued\n", calls, queued);
	return calls != runs || queued != (long)nbthread * TASKS;
}
