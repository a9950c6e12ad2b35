/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that compute until a signal or a cancellation comes; with an argument, one that accesses nothing. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile long counts[8][8];
static int cleaned;

static void end(int signal)
{
	(void)signal;
	stop = 1;
}

static void *count(void *own)
{
	volatile long *counter = own;

	while (!stop)
		++*counter;
	return NULL;
}

static void clean(void *argument)
{
	(void)argument;
	cleaned++;
}

static __attribute__((noinline)) void step(volatile long *counter) { ++*counter; }

static void *count_for_ever(void *own)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, NULL);
	for (;;)
		step(own);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *count_in_registers(void *argument)
{
	volatile long own = 0;

	stop = 0;
	for (;;)
		own++;
	return argument;
}

int main(int argc, char **argv)
{
	/* On one CPU each of the three threads has had its slice by then. */
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	pthread_t threads[2];
	void *result;

	(void)argv;
	signal(SIGALRM, end);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, (void *)counts[i]);
	while (!stop)
		counts[2][0]++;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_create(&threads[0], NULL, argc > 1 ? count_in_registers : count_for_ever, (void *)counts[3]);
	usleep(1000);
	pthread_cancel(threads[0]);
	pthread_join(threads[0], &result);
	printf("%s, cleaned %d\n", result == PTHREAD_CANCELED && counts[0][0] > 100 ? "ok" : "wrong", cleaned);
	return 0;
}
