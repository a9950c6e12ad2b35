/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ways to share a line: sharing THREADS ROUNDS WAY. */
#include "team.h"
#include <string.h>

/* statistics: each thread counts in an element of its own; main adds them up when all are done. */
static struct count {
	long done;
} counts[64];

/* config: all read one word, and now and then a thread counts in the word beside it. */
static _Alignas(64) struct {
	volatile long limit;
	volatile long changes;
} config = { 5, 0 };

/* steps: the word says how far to count, and a thread counts its rounds in the word beside it. */

/* mark: all set a bit that is set already. */
static _Alignas(64) atomic_int marked;

/* mailbox: a flag and what it announces, on one line. */
static _Alignas(64) struct {
	long letter;
	atomic_int full;
} mailbox;

/* ring: most of the wait is for one of many fields, and not the first. */
static _Alignas(64) struct {
	atomic_long size, dropped, errors, enqueued, dequeued;
} ring;

/* constant: a word that nobody writes, read in a loop that computes in registers; uneven: for as long as these say. */
static _Alignas(64) atomic_long scale = 3;
static _Alignas(64) atomic_long result;

static int rounds;
static const char *way;

static void count(int thread)
{
	for (int i = 0; i < rounds; i++)
		*(volatile long *)&counts[thread].done += 1;
}

static void configured(int thread)
{
	long sum = 0;

	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 20; k++)
			sum += config.limit * k;
		if (thread == 0 && i % 16 == 0)
			config.changes++;
	}
	atomic_fetch_add(&result, sum);
}

static void counted(int thread)
{
	for (int i = 0; i < rounds; i++) {
		for (volatile long k = config.limit; k > 0;)
			k--;
		if (thread == 0)
			__atomic_fetch_add(&config.changes, 1, __ATOMIC_RELAXED);
	}
}

static void mark(int thread)
{
	for (int i = 0; i < rounds; i++) {
		atomic_fetch_or(&marked, 1);
		for (volatile int k = 0; k < 10;)
			k++;
	}
}

static void post(int thread)
{
	if (thread > 1)
		return;
	for (int i = 0; i < rounds; i++) {
		while (atomic_load_explicit(&mailbox.full, memory_order_acquire) != (thread == 1))
			;
		if (thread == 0)
			mailbox.letter = i;
		else if (mailbox.letter != i)
			exit(3);
		atomic_store_explicit(&mailbox.full, thread == 0, memory_order_release);
	}
}

static void enqueue(int thread)
{
	for (int i = 0; i < rounds; i++) {
		atomic_fetch_add(&ring.enqueued, 1);
		if (i % 16 == thread % 16)
			atomic_fetch_add(&ring.size, 1);
		if (i % 32 == thread % 32) {
			atomic_fetch_add(&ring.dropped, 1);
			atomic_fetch_add(&ring.errors, 1);
			atomic_fetch_add(&ring.dequeued, 1);
		}
	}
}

static void constant(int thread)
{
	unsigned long x = thread + 1;

	for (int i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x += atomic_load_explicit(&scale, memory_order_relaxed);
	}
	atomic_fetch_add(&result, x);
}

static unsigned long mixed(unsigned long *x)
{
	unsigned long sum = 0;

	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	for (unsigned long left = *x & 127; left; left--)
		sum = sum * 3 + *x;
	return sum;
}

static void uneven(int thread)
{
	unsigned long x = thread + 1, sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += mixed(&x) ^ atomic_load_explicit(&scale, memory_order_relaxed);
	atomic_fetch_add(&result, sum);
}

/* backs_off: it waits for a flag, longer each time. */
static _Alignas(64) atomic_int done;

static void backs_off(int thread)
{
	unsigned long x = thread + 1;

	if (thread == 0) {
		for (volatile int i = 0; i < 20 * rounds;)
			i++;
		atomic_store(&done, 1);
		return;
	}
	while (!atomic_load_explicit(&done, memory_order_acquire)) {
		x = x * 6364136223846793005 + 1442695040888963407;
		for (unsigned long left = x >> 57; left; left--)
			__asm__ volatile("");
	}
}

/* stop, uneven_stop: it computes in registers until a flag is set; wait: it does nothing else. */
static _Alignas(64) atomic_int stop;

static void until_stopped(int thread)
{
	unsigned long x = thread + 1, sum = 0;

	if (thread == 0) {
		for (volatile int i = 0; i < 20 * rounds;)
			i++;
		atomic_store(&stop, 1);
	} else if (!strcmp(way, "wait")) {
		while (!atomic_load_explicit(&stop, memory_order_acquire))
			x++;
	} else if (!strcmp(way, "uneven_stop")) {
		while (!atomic_load_explicit(&stop, memory_order_relaxed))
			sum += mixed(&x);
	} else {
		while (!atomic_load_explicit(&stop, memory_order_relaxed))
			x = x * 6364136223846793005 + 1442695040888963407;
	}
	atomic_fetch_add(&result, x + sum);
}

static void work(int thread)
{
	if (!strcmp(way, "config"))
		configured(thread);
	else if (!strcmp(way, "steps"))
		counted(thread);
	else if (!strcmp(way, "mark"))
		mark(thread);
	else if (!strcmp(way, "mailbox"))
		post(thread);
	else if (!strcmp(way, "ring"))
		enqueue(thread);
	else if (!strcmp(way, "constant"))
		constant(thread);
	else if (!strcmp(way, "uneven"))
		uneven(thread);
	else if (!strcmp(way, "backs_off"))
		backs_off(thread);
	else
		until_stopped(thread);
}

static _Alignas(64) atomic_int begun;

static void *counting(void *thread)
{
	while (!atomic_load(&begun))
		__builtin_ia32_pause();
	count((int)(long)thread);
	return NULL;
}

/* No region of interest: the sum belongs to the run. Main has a CPU of its own. */
static int statistics(int threads)
{
	pthread_t others[64];
	long sum = 0;

	for (long i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, counting, (void *)i))
			return 3;
	atomic_store(&begun, 1);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	for (int i = 1; i < threads; i++)
		sum += *(volatile long *)&counts[i].done;
	return sum != (threads - 1L) * rounds;
}

int main(int argc, char **argv)
{
	int threads;

	if (argc != 4)
		return 2;
	threads = atoi(argv[1]);
	rounds = atoi(argv[2]);
	way = argv[3];
	if (!strcmp(way, "statistics"))
		return statistics(threads);
	team_run(threads, work);
	return 0;
}
