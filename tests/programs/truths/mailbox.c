/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads wait for a common flag, which stays, or for something beside it: for mail of their own, for a plain word that
 * all of them read, or for a message behind a pointer. Prints how late the last of them saw it, in ns, for each.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 6, STEPS = 2000000 };

struct message {
	_Alignas(128) volatile int ready;
};

static struct mailbox {
	_Alignas(128) volatile int mail;
	struct message *volatile last;
	long seen;
} boxes[THREADS];
static _Alignas(128) atomic_int stop;
static _Alignas(128) volatile int notice;
static _Alignas(128) volatile int other_notice;
static _Alignas(128) volatile long sink;
static struct message messages[THREADS];

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *wait_for_mail(void *box)
{
	struct mailbox *me = box;

	me->mail = 0;
	while (!atomic_load(&stop) && !me->mail)
		;
	me->seen = now();
	return NULL;
}

static void *wait_for_notice(void *box)
{
	struct mailbox *me = box;

	while (!atomic_load(&stop) && !notice && !other_notice)
		;
	me->seen = now();
	return NULL;
}

static void *wait_for_message(void *box)
{
	struct mailbox *me = box;
	struct message *last;

	me->last = NULL;
	while (!atomic_load(&stop) && !((last = me->last) && last->ready))
		;
	me->seen = now();
	return NULL;
}

static void compute(void)
{
	for (long i = 0; i < STEPS; i++)
		sink += i;
}

static void mail(void)
{
	for (int i = 0; i < THREADS; i++)
		boxes[i].mail = 1;
}

static void announce(void)
{
	notice = 1;
}

static void send(void)
{
	for (int i = 0; i < THREADS; i++)
		boxes[i].last = &messages[i];
	compute();
	for (int i = 0; i < THREADS; i++)
		messages[i].ready = 1;
}

static void late(const char *what, void *(*waits)(void *), void (*wakes)(void))
{
	pthread_t threads[THREADS];
	long told, last = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, waits, &boxes[i]);
	compute();
	wakes();
	told = now();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		last = boxes[i].seen > last ? boxes[i].seen : last;
	}
	printf("%s %ld\n", what, last - told);
}

int main(void)
{
	late("mail", wait_for_mail, mail);
	late("notice", wait_for_notice, announce);
	late("message", wait_for_message, send);
	return 0;
}
