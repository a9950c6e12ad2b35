/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait at one condition variable: meetings THREADS ROUNDS WAY. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int arrived, round, turn, items;
} hall = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, 0 };
static int threads, rounds;
static const char *way;

static void work(int steps)
{
	for (volatile int i = 0; i < steps;)
		i++;
}

/* barrier: as Splash-3 has it; the second thread always comes last. uneven: a thread that changes without order. */
static void arrive(void)
{
	pthread_mutex_lock(&hall.lock);
	int round = hall.round;
	if (++hall.arrived == threads) {
		hall.arrived = 0;
		hall.round++;
		pthread_cond_broadcast(&hall.changed);
	} else {
		while (round == hall.round)
			pthread_cond_wait(&hall.changed, &hall.lock);
	}
	pthread_mutex_unlock(&hall.lock);
}

/* turns: one after the other. */
static void take_turn(int me)
{
	pthread_mutex_lock(&hall.lock);
	while (hall.turn != me)
		pthread_cond_wait(&hall.changed, &hall.lock);
	hall.turn = (me + 1) % threads;
	pthread_cond_broadcast(&hall.changed);
	pthread_mutex_unlock(&hall.lock);
	work(50);
}

/* queue: the first thread makes work for the others, too slowly. */
static void serve(int me)
{
	pthread_mutex_lock(&hall.lock);
	if (me == 0) {
		pthread_mutex_unlock(&hall.lock);
		work(3000);
		pthread_mutex_lock(&hall.lock);
		hall.items++;
		pthread_cond_broadcast(&hall.changed);
	} else {
		while (hall.items == 0 && hall.turn == 0)
			pthread_cond_wait(&hall.changed, &hall.lock);
		if (hall.items > 0)
			hall.items--;
	}
	pthread_mutex_unlock(&hall.lock);
}

static void *member(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < rounds; i++) {
		if (!strcmp(way, "barrier")) {
			work(me == 1 ? 40000 : 400);
			arrive();
		} else if (!strcmp(way, "uneven")) {
			work((i * 2654435761u >> 7 & 1) == (unsigned)me ? 40000 : 400);
			arrive();
		} else if (!strcmp(way, "turns")) {
			take_turn(me);
		} else {
			serve(me);
		}
	}
	if (me == 0) {
		pthread_mutex_lock(&hall.lock);
		hall.turn += !strcmp(way, "queue");
		pthread_cond_broadcast(&hall.changed);
		pthread_mutex_unlock(&hall.lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t others[64];

	if (argc != 4)
		return 2;
	threads = atoi(argv[1]);
	rounds = atoi(argv[2]);
	way = argv[3];
	for (long i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, member, (void *)i);
	member(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
