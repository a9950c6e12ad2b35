/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads update a word by turns, in three ways; prints the nanoseconds of a turn of each. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 2000, WARM = 400, WAYS = 3 };

static const char *const name[WAYS] = { "cas", "load_cas", "load_store" };
static struct {
	_Alignas(128) atomic_int word;
	_Alignas(128) atomic_int ready;
} way[WAYS];

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static int turn_of(int which, int me)
{
	int value;

	do
		value = atomic_load_explicit(&way[which].word, memory_order_relaxed);
	while ((value & 1) != me);
	return value;
}

static void take_turn(int which, int me, int turn)
{
	int value;

	switch (which) {
	case 0:
		do
			value = 2 * turn + me;
		while (!atomic_compare_exchange_strong(&way[0].word, &value, value + 1));
		break;
	case 1:
		value = turn_of(1, me);
		atomic_compare_exchange_strong(&way[1].word, &value, value + 1);
		break;
	default:
		value = turn_of(2, me);
		atomic_store_explicit(&way[2].word, value + 1, memory_order_relaxed);
	}
}

static void *player(void *arg)
{
	int me = arg != NULL;

	for (int which = 0; which < WAYS; which++) {
		double begun = 0;

		atomic_fetch_add(&way[which].ready, 1);
		while (atomic_load(&way[which].ready) < 2)
			;
		for (int turn = 0; turn < TURNS; turn++) {
			if (turn == WARM)
				begun = now_ns();
			take_turn(which, me, turn);
		}
		if (!me)
			printf("%s %.1f\n", name[which], (now_ns() - begun) / (2 * (TURNS - WARM)));
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, player, &other);
	player(NULL);
	return pthread_join(other, NULL);
}
