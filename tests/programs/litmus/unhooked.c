// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two threads pass a turn to each other by a LIBRARY without hooks: unhooked.c WAY. What a thread has stored before is there
 * for the other. The ways: a call, in the block of the stores or later; the same by a pointer; and after a function that
 * the library calls has returned to it.
 */
#ifdef LIBRARY
static int turn;

int turn_of(void)
{
	return __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
}

void pass_on(int to)
{
	__atomic_store_n(&turn, to, __ATOMIC_RELEASE);
}

void work_and_pass_on(void (*work)(int), int round, int to)
{
	work(round);
	pass_on(to);
}
#else
#ifdef PLAIN
#define WORD volatile int
#define STORE(word, v) (*(word) = (v))
#define LOAD(word) (*(word))
#else
#define WORD atomic_int
#define STORE(word, v) atomic_store_explicit(word, v, memory_order_release)
#define LOAD(word) atomic_load_explicit(word, memory_order_acquire)
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 300

int turn_of(void);
void pass_on(int to);
void work_and_pass_on(void (*work)(int), int round, int to);

static int way;
static void (*volatile passes_on)(int) = pass_on;
static volatile int never;
static struct {
	_Alignas(64) WORD value;
} words[4];
static long stale;

static inline void write_all(int round)
{
	STORE(&words[0].value, round);
	STORE(&words[1].value, round);
	STORE(&words[2].value, round);
	STORE(&words[3].value, round);
}

static void *takes_turns(void *argument)
{
	int me = argument != NULL;

	for (int round = 1 + me; round < ROUNDS; round += 2) {
		/* Its copies of the lines are there when the turn comes. */
		while (turn_of() != me)
			for (int i = 0; i < 4; i++)
				(void)LOAD(&words[i].value);
		for (int i = 0; i < 4; i++)
			stale += LOAD(&words[i].value) != round - 1;
		if (way == 'r') {
			work_and_pass_on(write_all, round, !me);
			continue;
		}
		write_all(round);
		if (way == 'c')
			pass_on(!me);
		else if (way == 'p')
			passes_on(!me);
		else if (never)
			continue;
		else if (way == 'l')
			pass_on(!me);
		else
			passes_on(!me);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	/* call, later, pointer, "a pointer later", return */
	way = argc > 1 ? *argv[1] : 'c';
	pthread_create(&other, NULL, takes_turns, words);
	takes_turns(NULL);
	pthread_join(other, NULL);
	printf("%ld stale\n", stale);
	return 0;
}
#endif
