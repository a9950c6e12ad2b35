/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Structures that share lines with others of their kind, or not: neighbours THREADS ROUNDS WAY. */
#include "team.h"
#include <string.h>

struct both {
	atomic_long reads, writes;
};

/* own: each thread has an element of its own, and uses both fields of it. */
static _Alignas(64) struct both own[64];

/* crossed: of each element, one thread uses one field, and another thread the other; elements have lines of their own. */
static _Alignas(64) struct lined {
	_Alignas(64) struct both both;
} lined[64];

/* columns: each thread has an element of its own in two arrays, which are on different lines. */
static _Alignas(64) struct {
	_Alignas(64) atomic_long reads[64], writes[64];
} columns;

/* objects: each thread has a heap object of its own; they lie on lines as malloc makes them. */
static struct both *objects[64];

/* monitor: thread 0 adds up what the others count, each on a line of its own. */
static _Alignas(64) atomic_int done;

/* behind: a plain store waits in the store buffer behind that of an unlocked lock. */
static _Alignas(64) atomic_int lock;
static struct plain {
	_Alignas(64) volatile long left;
} plain[64];

static _Alignas(64) int rounds;
static int threads;
static const char *way;

static void use(struct both *both)
{
	for (int i = 0; i < rounds; i++) {
		atomic_fetch_add(&both->reads, 1);
		if (i % 4 == 0)
			atomic_fetch_add(&both->writes, 1);
	}
}

static void cross(int thread)
{
	struct both *both = &lined[thread / 2].both;
	atomic_long *field = thread % 2 ? &both->reads : &both->writes;

	for (int i = 0; i < rounds; i++)
		atomic_fetch_add(field, 1);
}

static void use_columns(int thread)
{
	for (int i = 0; i < rounds; i++) {
		atomic_fetch_add(&columns.reads[thread], 1);
		if (i % 4 == 0)
			atomic_fetch_add(&columns.writes[thread], 1);
	}
}

static void count(int thread)
{
	for (int i = 0; i < rounds; i++)
		atomic_fetch_add(&lined[thread].both.reads, 1);
	atomic_fetch_add(&done, 1);
}

static void add_up(int others)
{
	long sum = 0;

	while (atomic_load(&done) < others)
		for (int i = 1; i <= others; i++)
			sum += atomic_load_explicit(&lined[i].both.reads, memory_order_relaxed);
	if (sum < 0)
		exit(3);
}

static void behind(int thread)
{
	for (int i = 0; i < rounds; i++) {
		while (atomic_exchange(&lock, 1))
			while (atomic_load_explicit(&lock, memory_order_relaxed))
				__builtin_ia32_pause();
		atomic_store_explicit(&lock, 0, memory_order_release);
		plain[thread].left = i;
		/* Waits for both. */
		atomic_fetch_add(&lined[thread].both.reads, 1);
		if (i % 16 == 0)
			plain[(thread + 1) % threads].left = i;
		for (volatile int k = 0; k < 20; k++)
			;
	}
}

static void work(int thread)
{
	if (!strcmp(way, "own"))
		use(&own[thread]);
	else if (!strcmp(way, "objects"))
		use(objects[thread]);
	else if (!strcmp(way, "columns"))
		use_columns(thread);
	else if (!strcmp(way, "crossed"))
		cross(thread);
	else if (!strcmp(way, "behind"))
		behind(thread);
	else if (thread == 0)
		add_up(threads - 1);
	else
		count(thread);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	threads = atoi(argv[1]);
	rounds = atoi(argv[2]);
	way = argv[3];
	if (threads > 64)
		return 2;
	for (int i = 0; i < threads; i++) {
		objects[i] = calloc(1, sizeof(struct both));
		if (!objects[i])
			return 3;
	}
	team_run(threads, work);
	return 0;
}
