/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"
#include <sched.h>
#include <sys/mman.h>

static int turns;

static void *take_turns(void *unused)
{
	for (int i = 0; i < 100; i++) {
		__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
	return unused;
}

static void clocks(void)
{
	struct timespec a, b, nap = {0, 2000000}, left = {9, 9}, none = {0, 0};

	SAYS("clock_gettime 1,3,6", "the monotonic clock goes forward", !clock_gettime(CLOCK_MONOTONIC, &a) && !nanosleep(&nap, NULL) && has_come(CLOCK_MONOTONIC, a));
	SAYS("clock_gettime 7,8", "refuses what is no clock", FAILS(EINVAL, clock_gettime(9999, &a)));
	SAYS("clock_getres 1,3,4", "gives a resolution", !clock_getres(CLOCK_MONOTONIC, &a) && a.tv_sec == 0 && a.tv_nsec > 0);
	SAYS("clock_getres 5,6", "refuses what is no clock", FAILS(EINVAL, clock_getres(9999, &a)));
	b = from_now(CLOCK_MONOTONIC, 2);
	SAYS("nanosleep 1,2,4", "sleeps as long as it is told", !nanosleep(&nap, &left) && has_come(CLOCK_MONOTONIC, b));
	SAYS("nanosleep", "returns at once for no time", nanosleep(&none, NULL) == 0);
	SAYS("nanosleep 5,6", "refuses too many nanoseconds", FAILS(EINVAL, nanosleep(&no_time, NULL)));
	nap.tv_nsec = -1;
	SAYS("nanosleep 6", "refuses less than none", FAILS(EINVAL, nanosleep(&nap, NULL)));
	b = from_now(CLOCK_MONOTONIC, 5);
	SAYS("clock_nanosleep 2,5,8", "sleeps until a time", !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &b, NULL) && has_come(CLOCK_MONOTONIC, b));
	a = from_now(CLOCK_REALTIME, 5);
	SAYS("clock_nanosleep 2,5", "sleeps until a time of the wall clock", !clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &a, NULL) && has_come(CLOCK_REALTIME, a));
	SAYS("clock_nanosleep 3", "returns at once for a time that has passed", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &none, NULL) == 0);
	SAYS("clock_nanosleep 11", "refuses what is no time", clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL) == EINVAL);
	SAYS("clock_nanosleep 13", "refuses what is no clock", clock_nanosleep(9999, 0, &none, NULL) == EINVAL);
	SAYS("clock_nanosleep 7,13", "refuses the thread's own CPU time", clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &none, NULL) == EINVAL);
}

static void maps(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	SAYS("mmap", "gives memory that is zero", at != MAP_FAILED && at[0] == 0 && at[4 * page - 1] == 0);
	at[page] = 1;
	char *again = mmap(at + page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	SAYS("mmap", "at a fixed address, takes the place of what is there", again == at + page && at[page] == 0);
	SAYS("mmap", "refuses no bytes", (errno = 0, mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED && errno == EINVAL);
	SAYS("mmap", "refuses neither private nor shared", (errno = 0, mmap(NULL, page, PROT_READ, MAP_ANONYMOUS, -1, 0)) == MAP_FAILED && errno == EINVAL);
	SAYS("mmap", "refuses what is no descriptor", (errno = 0, mmap(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0)) == MAP_FAILED && errno == EBADF);
	SAYS("mprotect", "succeeds", mprotect(at, page, PROT_READ) == 0);
	SAYS("munmap", "refuses an address within a page", FAILS(EINVAL, munmap(at + 1, page)));
	SAYS("munmap", "refuses no bytes", FAILS(EINVAL, munmap(at, 0)));
	SAYS("munmap", "succeeds", munmap(at, 4 * page) == 0);
}

int main(void)
{
	pthread_t threads[8];
	struct sched_param param = {0};
	int policy = -1;

	SAYS("sched_yield 2", "succeeds", sched_yield() == 0);
	for (int i = 0; i < 8; i++)
		threads[i] = begin(take_turns, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	SAYS("sched_yield 1", "lets all go on in the end", turns == 800);
	SAYS("sched_get_priority_max 1 sched_get_priority_min 1", "is above the lowest", sched_get_priority_max(SCHED_FIFO) - sched_get_priority_min(SCHED_FIFO) >= 31);
	SAYS("sched_get_priority_max 2,3", "refuses what is no policy", FAILS(EINVAL, sched_get_priority_max(999)));
	SAYS("sched_get_priority_min 2,3", "refuses what is no policy", FAILS(EINVAL, sched_get_priority_min(999)));
	SAYS("sched_getscheduler 1,3,4", "is the ordinary policy at first", sched_getscheduler(0) == SCHED_OTHER);
	SAYS("sched_getparam 2,3", "is no priority at first", !sched_getparam(0, &param) && param.sched_priority == 0);
	SAYS("sched_setscheduler 4,8,16", "takes the ordinary policy", sched_setscheduler(0, SCHED_OTHER, &param) == 0);
	SAYS("pthread_getschedparam 1,3,4", "is the ordinary policy at first", !pthread_getschedparam(pthread_self(), &policy, &param) && policy == SCHED_OTHER);
	SAYS("pthread_setschedparam 1,3,5", "takes the ordinary policy", pthread_setschedparam(pthread_self(), SCHED_OTHER, &param) == 0);
	SAYS("pthread_setschedprio 1,3", "takes no priority for it", pthread_setschedprio(pthread_self(), 0) == 0);
	param.sched_priority = 1000;
	SAYS("pthread_setschedparam 3", "refuses what is no priority", pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == EINVAL);
	SAYS("sched_setscheduler 18,19", "refuses what is no priority", FAILS(EINVAL, sched_setscheduler(0, SCHED_FIFO, &param)));
	SAYS("sched_setscheduler 18,19", "refuses what is no policy", FAILS(EINVAL, sched_setscheduler(0, 999, &param)));
	clocks();
	maps();
	return 0;
}
