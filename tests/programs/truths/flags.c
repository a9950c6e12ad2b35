/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * flags HOW: one thread waits for words that another one stores, ROUNDS times.
 *
 * signal    for a flag that the other raises and lowers by stores of sequential consistency
 * work      for the number of the next round; computes in between, and stores nothing
 * busy      for a count that stands still for a while, then runs, and stands still again; computes with each value
 * read      for nothing: reads a word LOOKS times, which the other changes now and then, and goes on
 * pauses    as often, with a pause each time
 * yields    as often, and yields the CPU each time
 * tries     as often, and then tries to take the word by an update
 * sleeps    as often, and then sleeps
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 200, COUNTS = 40, LOOKS = 100 };

static _Alignas(64) atomic_uint flag, answer, lowered;
static volatile unsigned long result;
static const char *how;
static int is_pausing, is_yielding;

static int is(const char *name)
{
	return !strcmp(how, name);
}

static unsigned long computed(unsigned long x, int steps)
{
	for (int i = 0; i < steps; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	return x;
}

static void rest(int steps)
{
	for (volatile int i = 0; i < steps; i++)
		;
}

static void await(atomic_uint *word, unsigned least)
{
	while (atomic_load_explicit(word, memory_order_acquire) < least)
		;
}

static unsigned look(void)
{
	unsigned last = 0;

	for (int i = 0; i < LOOKS; i++) {
		last = atomic_load_explicit(&flag, memory_order_relaxed);
		if (is_pausing)
			__builtin_ia32_pause();
		if (is_yielding)
			sched_yield();
	}
	return last;
}

static void look_and_go_on(void)
{
	unsigned last = look();

	if (is("tries"))
		atomic_fetch_xor(&flag, 1);
	if (is("sleeps"))
		usleep(1);
	result = last;
	rest(1000);
}

static void *wait(void *argument)
{
	unsigned long x = 1;

	for (unsigned round = 1; round <= ROUNDS; round++) {
		if (is("signal")) {
			await(&flag, 1);
			atomic_store_explicit(&answer, round, memory_order_release);
			await(&lowered, round);
		} else if (is("work")) {
			await(&flag, round);
			x = computed(x, 500);
		} else if (!is("busy")) {
			look_and_go_on();
		} else {
			while (atomic_load_explicit(&flag, memory_order_acquire) < round * COUNTS)
				rest(150);
			atomic_store_explicit(&answer, round, memory_order_release);
		}
	}
	result = x;
	return argument;
}

static void store(void)
{
	for (unsigned round = 1; round <= ROUNDS; round++) {
		rest(6000);
		if (is("signal")) {
			atomic_store(&flag, 1);
			await(&answer, round);
			atomic_store(&flag, 0);
			atomic_store_explicit(&lowered, round, memory_order_release);
		} else if (is("work")) {
			atomic_store_explicit(&flag, round, memory_order_release);
		} else if (is("busy")) {
			for (unsigned count = 1; count <= COUNTS; count++) {
				atomic_store_explicit(&flag, (round - 1) * COUNTS + count, memory_order_release);
				rest(count == COUNTS - 1 ? 6000 : 40);
			}
			await(&answer, round);
		} else {
			atomic_fetch_add(&flag, 2);
		}
	}
}

int main(int count, char **arguments)
{
	pthread_t thread;

	how = count > 1 ? arguments[1] : "signal";
	is_pausing = is("pauses");
	is_yielding = is("yields");
	pthread_create(&thread, NULL, wait, NULL);
	store();
	pthread_join(thread, NULL);
	printf("%d\n", ROUNDS);
	return 0;
}
