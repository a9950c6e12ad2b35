// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Two threads pass a turn to each other by a LIBRARY without hooks: unhooked.c WAY. What a thread has stored before is there
 * for the other. The ways: "call" and "pointer", in the block of the stores; "later", and "by a pointer" that is at times
 * to a function with hooks, in another; "return", after a function that the library calls has returned to it, and "twice"
 * or "more", where the library then calls another, which looks at what the other thread writes, or writes there.
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

void work_and_pass_on(void (*work)(int), int round, int to, void (*rest)(void))
{
	work(round);
	pass_on(to);
	if (rest)
		rest();
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
void work_and_pass_on(void (*work)(int), int round, int to, void (*rest)(void));

static int way;
static void (*volatile passes_on)(int) = pass_on;
static void pass_on_with_hooks(int to);
static void (*volatile pass_on_somehow[])(int) = { pass_on, pass_on_with_hooks };
static volatile int never;
static struct {
	_Alignas(64) WORD value;
} words[4], more;
static long stale;

static __attribute__((noinline)) void pass_on_with_hooks(int to)
{
	pass_on(to);
}

static inline void write_all(int round)
{
	STORE(&words[0].value, round);
	STORE(&words[1].value, round);
	STORE(&words[2].value, round);
	STORE(&words[3].value, round);
}

static inline void look(void)
{
	for (int i = 0; i < 20; i++)
		(void)LOAD(&more.value);
}

static void write_more(void)
{
	STORE(&more.value, 1);
	look();
}

static void call(int round, int to)
{
	write_all(round);
	pass_on(to);
}

static void pointer(int round, int to)
{
	write_all(round);
	passes_on(to);
	look();
}

static void later(int round, int to)
{
	write_all(round);
	if (!never)
		pass_on(to);
}

static void by_a_pointer(int round, int to)
{
	void (*somehow)(int) = pass_on_somehow[round / 2 % 2];

	write_all(round);
	if (!never)
		somehow(to);
	look();
}

static void returns(int round, int to)
{
	work_and_pass_on(write_all, round, to, NULL);
}

static void twice(int round, int to)
{
	work_and_pass_on(write_all, round, to, look);
}

static void more_stores(int round, int to)
{
	work_and_pass_on(write_all, round, to, write_more);
}

static void (*const ways[128])(int, int) = { ['c'] = call, ['p'] = pointer, ['l'] = later, ['b'] = by_a_pointer,
					     ['r'] = returns, ['t'] = twice, ['m'] = more_stores };

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
		STORE(&more.value, 0);
		ways[way](round, !me);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	way = argc > 1 ? *argv[1] & 127 : 'c';
	pthread_create(&other, NULL, takes_turns, words);
	takes_turns(NULL);
	pthread_join(other, NULL);
	printf("%ld stale\n", stale);
	return 0;
}
#endif
