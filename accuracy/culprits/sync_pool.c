/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Go's sync.Pool without its padding: each P takes its private object out of its own poolLocal and puts it back; the
 * poolLocals, 40 bytes each, are one array on the heap, so that neighbours share cache lines.
 * Twin: padded to 128 bytes, as in Go. sync_pool THREADS MESSAGES
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	char text[64];
	long uses;
};

struct poolLocal {
#ifdef TWIN
	_Alignas(128)
#endif
	struct buffer *private; /* only its own P uses it */
	struct buffer **shared; /* others may steal from here */
	long shared_head, shared_tail;
	long gets;
};

static struct poolLocal *local;
static long messages;
static int procs;

static __attribute__((noinline)) struct buffer *pool_get(int pid)
{
	struct poolLocal *l = &local[pid];
	struct buffer *x = l->private;

	l->private = NULL;
	l->gets++;
	if (!x && l->shared_head > l->shared_tail)
		x = l->shared[--l->shared_head];
	if (!x)
		x = aligned_alloc(64, 128);
	return x;
}

static __attribute__((noinline)) void pool_put(int pid, struct buffer *x)
{
	struct poolLocal *l = &local[pid];

	if (!l->private)
		l->private = x;
	else
		l->shared[l->shared_head++] = x;
}

/* Writes a number in decimal; returns its last digit. */
static int format(struct buffer *b, unsigned long number)
{
	char *end = b->text + sizeof b->text - 1, *p = end;

	*end = 0;
	do {
		*--p = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	b->uses++;
	return end[-1] - '0';
}

static void *run_proc(void *number)
{
	int pid = (int)(long)number;
	long mine = messages * (pid + 1) / procs - messages * pid / procs, right = 0;

	for (long i = 0; i < mine; i++) {
		struct buffer *b = pool_get(pid);

		right += format(b, 1000000000000UL + (unsigned long)i) == i % 10;
		pool_put(pid, b);
	}
	return (void *)right;
}

int main(int argc, char **argv)
{
	pthread_t *thread;
	long right = 0, gets = 0;

	procs = argc > 1 ? atoi(argv[1]) : 2;
	messages = argc > 2 ? atol(argv[2]) : 100000;
	local = aligned_alloc(128, ((size_t)procs * sizeof *local + 127) / 128 * 128);
	memset(local, 0, (size_t)procs * sizeof *local);
	thread = malloc((size_t)procs * sizeof *thread);
	for (long i = 0; i < procs; i++)
		pthread_create(&thread[i], NULL, run_proc, (void *)i);
	for (int i = 0; i < procs; i++) {
		void *one;

		pthread_join(thread[i], &one);
		right += (long)one;
		gets += local[i].gets;
		free(local[i].private);
	}
	printf("%ld messages, %ld buffers taken\n", right, gets);
	free(local);
	free(thread);
	return right != messages || gets != messages;
}
