/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A benchmark of a fixed duration: threads do rounds of work until main, which sleeps, or the clock stops them.
 * fixed THREADS private | atomic | mutex [sleep | timed | alarm | poll | each | work | own]; with `each`, each thread
 * watches the clock from when it begins; with `work`, all threads
 * together do the same number of rounds, and nothing stops them; with `own`, each does. Says how many were made.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define MICROSECONDS 5000
#define ROUNDS 40000
#define MOST 128

struct worker {
	long rounds, most, until;
	const char *what, *how;
	pthread_t thread;
} __attribute__((aligned(256)));

static struct worker workers[MOST];
static atomic_int stop;
static atomic_long shared;
static long guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, timed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static struct timespec deadline;

static long nanoseconds(struct timespec time)
{
	return time.tv_sec * 1000000000l + time.tv_nsec;
}

static int is_over(const struct worker *me)
{
	struct timespec now;

	if (me->how[0] == 'w' || me->how[0] == 'o')
		return me->rounds >= me->most;
	if (me->how[0] != 'p' && me->how[0] != 'e')
		return atomic_load_explicit(&stop, memory_order_relaxed);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return nanoseconds(now) >= (me->how[0] == 'e' ? me->until : nanoseconds(deadline));
}

static void round_of(const struct worker *me)
{
	volatile int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += i;
	if (me->what[0] == 'a')
		atomic_fetch_add(&shared, 1);
	if (me->what[0] == 'm') {
		pthread_mutex_lock(&lock);
		guarded++;
		pthread_mutex_unlock(&lock);
	}
}

static void *work(void *worker)
{
	struct worker *me = worker;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	me->until = nanoseconds(now) + MICROSECONDS * 1000;
	while (!is_over(me)) {
		round_of(me);
		me->rounds++;
	}
	return NULL;
}

static void stop_them(int signal)
{
	(void)signal;
	atomic_store(&stop, 1);
}

static void wait_out(const char *how)
{
	struct timespec pause = { .tv_nsec = MICROSECONDS * 1000 };
	struct itimerval alarm = { .it_value.tv_usec = MICROSECONDS };

	if (how[0] == 'a') {
		signal(SIGALRM, stop_them);
		setitimer(ITIMER_REAL, &alarm, NULL);
		return;
	}

	if (how[0] == 's')
		nanosleep(&pause, NULL);
	if (how[0] == 't') {
		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline.tv_nsec += MICROSECONDS * 1000;
		pthread_mutex_lock(&timed);
		while (!pthread_cond_timedwait(&never, &timed, &deadline))
			;
		pthread_mutex_unlock(&timed);
	}
	atomic_store(&stop, 1);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	const char *what = argc > 2 ? argv[2] : "private", *how = argc > 3 ? argv[3] : "sleep";
	long rounds = 0;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_nsec += MICROSECONDS * 1000;
	for (int i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .most = how[0] == 'o' ? ROUNDS : ROUNDS / threads, .what = what, .how = how };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	wait_out(how);
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		rounds += workers[i].rounds;
	}
	printf("%ld rounds\n", rounds);
	return 0;
}
