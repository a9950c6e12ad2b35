/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timers, clocks, and sleeps that signals end. */
#define _GNU_SOURCE
#include "handlers.h"
#include <sys/time.h>

static const struct itimerspec off;
static pthread_t main_thread;

static struct itimerspec in(long first, long interval)
{
	return (struct itimerspec){.it_value = {first / 1000, first % 1000 * 1000000}, .it_interval = {interval / 1000, interval % 1000 * 1000000}};
}

static int is_off(const struct itimerspec *time)
{
	return !time->it_value.tv_sec && !time->it_value.tv_nsec;
}

static void await(int how_many)
{
	while (caught < how_many)
		usleep(500);
}

static int fires(clockid_t clock)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec time = in(3, 0);
	timer_t timer;

	handle(SIGUSR1, count, 0, 0);
	if (timer_create(clock, &event, &timer) || timer_settime(timer, 0, &time, NULL))
		return 0;
	while (!caught)
		;
	return timer_delete(timer) == 0;
}

static void creates(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value = {.sival_int = 99}};
	struct itimerspec time = in(3, 0);
	timer_t timer, other;
	clockid_t clock;

	handle_info(SIGUSR2);
	SAYS("timer_create 1,13", "makes a timer", timer_create(CLOCK_REALTIME, &event, &timer) == 0);
	SAYS("timer_create 2", "makes another one", !timer_create(CLOCK_REALTIME, &event, &other) && timer != other);
	settle();
	SAYS("timer_create 3 timer_gettime 2,4", "is off at first", !timer_gettime(timer, &time) && is_off(&time) && !caught);
	time = in(3, 0);
	timer_settime(timer, 0, &time, NULL);
	await(1);
	SAYS("timer_create 4", "notifies as it is told to", told.si_code == SI_TIMER && told.si_value.sival_int == 99);
	SAYS("timer_delete 3", "succeeds", !timer_delete(timer) && !timer_settime(other, 0, &time, NULL));
	SAYS("timer_delete 1,2", "of one that is on, turns it off", !timer_delete(other) && (settle(), caught == 1));
	SAYS("timer_delete 4,5", "refuses one that is gone", FAILS(EINVAL, timer_delete(timer)));
	SAYS("timer_gettime 5,6", "refuses one that is gone", FAILS(EINVAL, timer_gettime(timer, &time)));
	SAYS("timer_settime 11,12", "refuses one that is gone", FAILS(EINVAL, timer_settime(timer, 0, &time, NULL)));
	SAYS("timer_getoverrun 5,6", "refuses one that is gone", FAILS(EINVAL, timer_getoverrun(timer)));
	handle_info(SIGALRM);
	time = in(3, 0);
	SAYS("timer_create 5", "without an event, sends SIGALRM", !timer_create(CLOCK_REALTIME, NULL, &timer) && !timer_settime(timer, 0, &time, NULL) && (await(1), last == SIGALRM) && told.si_code == SI_TIMER && !timer_delete(timer));
	SAYS("timer_create 6", "takes the wall clock", fires(CLOCK_REALTIME));
	SAYS("timer_create 7", "takes the monotonic clock", fires(CLOCK_MONOTONIC));
	SAYS("timer_create 10", "takes the process's CPU time", fires(CLOCK_PROCESS_CPUTIME_ID));
	SAYS("timer_create 11", "takes the thread's CPU time", fires(CLOCK_THREAD_CPUTIME_ID) && !pthread_getcpuclockid(pthread_self(), &clock) && fires(clock));
	SAYS("timer_create 14,16", "refuses what is no clock", FAILS(EINVAL, timer_create(9999, &event, &timer)));
}

static void sets(timer_t timer, clockid_t clock)
{
	struct itimerspec time = in(5, 0), left;
	struct timespec then = from_now(clock, 5);

	handle(SIGUSR1, count, 0, 0);
	SAYS("timer_settime 1,10", "turns it on", timer_settime(timer, 0, &time, NULL) == 0);
	SAYS("timer_gettime 1,3,4", "tells what is left", !timer_gettime(timer, &left) && left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 5000000);
	await(1);
	SAYS("timer_settime 4,9", "signals after its time, not before", has_come(clock, then) && caught == 1);
	time = in(10000, 2);
	timer_settime(timer, 0, &time, NULL);
	time = in(5, 3);
	SAYS("timer_settime 2,8", "sets it anew, and gives what was left", !timer_settime(timer, 0, &time, &left) && left.it_value.tv_sec == 9 && left.it_interval.tv_nsec == 2000000);
	SAYS("timer_gettime 1", "tells the interval", !timer_gettime(timer, &left) && left.it_interval.tv_nsec == 3000000);
	await(4);
	SAYS("timer_settime 6", "comes again at its interval", caught >= 4);
	SAYS("timer_settime 3", "turns it off", !timer_settime(timer, 0, &off, NULL) && !timer_gettime(timer, &left) && is_off(&left));
	int before = caught;
	settle();
	SAYS("timer_settime 3", "then it comes no more", caught == before);
	SAYS("timer_settime 8", "tells that it was off", !timer_settime(timer, 0, &off, &left) && is_off(&left));
	time.it_interval = off.it_interval;
	time.it_value = then = from_now(clock, 5);
	timer_settime(timer, TIMER_ABSTIME, &time, NULL);
	SAYS("timer_gettime 3", "tells what is left till a time", !timer_gettime(timer, &left) && left.it_value.tv_sec == 0 && left.it_value.tv_nsec <= 5000000);
	await(before + 1);
	SAYS("timer_settime 5,9", "comes at its time, not before", has_come(clock, then));
	time.it_value = (struct timespec){1, 0};
	SAYS("timer_settime 5", "comes at once at a time that has passed", !timer_settime(timer, TIMER_ABSTIME, &time, NULL) && (await(before + 2), 1));
	time.it_value = no_time;
	SAYS("timer_settime 11,13", "refuses what is no time", FAILS(EINVAL, timer_settime(timer, 0, &time, NULL)));
	time.it_value.tv_nsec = -1;
	SAYS("timer_settime 13", "refuses less than none", FAILS(EINVAL, timer_settime(timer, 0, &time, NULL)));
}

/* Taken by a wait, with the timer still on: to turn it off takes back what is pending. */
static void overruns(timer_t timer)
{
	sigset_t set = set_of(SIGUSR1, 0);
	struct itimerspec time = in(5, 5), tiny = {.it_value = {0, 1}, .it_interval = {0, 1}};
	siginfo_t info;

	handle(SIGUSR1, count, 0, 0);
	block(SIG_BLOCK, SIGUSR1, 0);
	timer_settime(timer, 0, &time, NULL);
	usleep(52000);
	SAYS("timer_getoverrun 1", "of several, one is pending", sigwaitinfo(&set, &info) == SIGUSR1 && info.si_overrun >= 8);
	SAYS("timer_getoverrun 2,4", "counts the others", timer_getoverrun(timer) == info.si_overrun);
	timer_settime(timer, 0, &tiny, NULL);
	usleep(1000);
	SAYS("timer_getoverrun 3", "is no more than the largest number", sigwaitinfo(&set, &info) == SIGUSR1 && timer_getoverrun(timer) > 100 && timer_getoverrun(timer) <= sysconf(_SC_DELAYTIMER_MAX));
	timer_delete(timer);
	handle(SIGUSR1, SIG_IGN, 0, 0);
	block(SIG_UNBLOCK, SIGUSR1, 0);
}

static void *send_later(void *unused)
{
	settle();
	pthread_kill(main_thread, SIGUSR1);
	return unused;
}

static long after_signal(int (*sleeps)(const struct timespec *, struct timespec *), int code)
{
	struct timespec ten = {10, 0}, left = {0, 0};

	handle(SIGUSR1, count, 0, 0);
	pthread_t sender = begin(send_later, NULL);
	int got = sleeps(&ten, &left);
	int right = (got == code || (got == -1 && errno == code)) && caught == 1;
	pthread_join(sender, NULL);
	return right ? left.tv_sec * 1000 + left.tv_nsec / 1000000 : -1;
}

static int monotonic(const struct timespec *time, struct timespec *left)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

static int until(const struct timespec *time, struct timespec *left)
{
	struct timespec then = from_now(CLOCK_REALTIME, time->tv_sec * 1000);

	left->tv_sec = 77;
	return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &then, left);
}

static int sleeps_all(clockid_t clock)
{
	struct timespec nap = {0, 2000000}, then = from_now(clock, 2);

	return !clock_nanosleep(clock, 0, &nap, NULL) && has_come(clock, then);
}

static void sleeps(void)
{
	long left = after_signal(nanosleep, EINTR);
	SAYS("nanosleep 1,5,7", "a handler ends it, and it tells what is left", left > 9000 && left < 10000);
	left = after_signal(monotonic, EINTR);
	SAYS("clock_nanosleep 1,9,10", "a handler ends it, and it tells what is left", left > 9000 && left < 10000);
	SAYS("clock_nanosleep 9,10", "till a time, it tells nothing", after_signal(until, EINTR) == 77000);
	SAYS("clock_nanosleep 1,4", "sleeps for a time", sleeps_all(CLOCK_MONOTONIC));
	SAYS("clock_nanosleep 15", "sleeps by the wall clock", sleeps_all(CLOCK_REALTIME));
	struct timespec less = {0, -1};
	SAYS("clock_nanosleep 11,12", "refuses less than none", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &less, NULL) == EINVAL);
	SAYS("nanosleep 3 clock_nanosleep 6", "leaves handlers and masks", !is_blocked(SIGUSR1) && signal(SIGUSR1, count) == count);
}

static void burn(clockid_t clock, struct timespec until_then)
{
	while (!has_come(clock, until_then))
		;
}

static void clocks(void)
{
	struct timespec before, now, res;
	clockid_t process, thread;

	SAYS("clock_gettime 2", "the wall clock is past 2020", !clock_gettime(CLOCK_REALTIME, &now) && now.tv_sec > 1577836800);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	burn(CLOCK_MONOTONIC, from_now(CLOCK_MONOTONIC, 3));
	SAYS("clock_gettime 4", "the process's CPU time grows while it computes", !clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) && now.tv_sec * 1000000000 + now.tv_nsec > before.tv_sec * 1000000000 + before.tv_nsec);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	usleep(30000);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	SAYS("clock_gettime 5", "the thread's CPU time does not grow by its sleep", now.tv_sec * 1000000000 + now.tv_nsec - before.tv_sec * 1000000000 - before.tv_nsec < 20000000);
	SAYS("clock_getres 2", "knows the wall clock", !clock_getres(CLOCK_REALTIME, &res) && res.tv_nsec > 0);
	SAYS("clock_getcpuclockid 1,3", "gives the process's CPU clock", !clock_getcpuclockid(getpid(), &process) && !clock_gettime(process, &now));
	SAYS("clock_getcpuclockid 2", "takes none for the own process", !clock_getcpuclockid(0, &process) && !clock_gettime(process, &now));
	SAYS("clock_getcpuclockid 6", "finds no such process", clock_getcpuclockid(0x7ffffff0, &thread) == ESRCH);
	SAYS("clock_getres 7", "knows the process's CPU time", !clock_getres(CLOCK_PROCESS_CPUTIME_ID, &res) && !clock_getres(process, &res));
	SAYS("clock_getres 8", "knows the thread's CPU time", !clock_getres(CLOCK_THREAD_CPUTIME_ID, &res) && !pthread_getcpuclockid(pthread_self(), &thread) && !clock_getres(thread, &res));
	SAYS("clock_settime 6,16,20", "refuses the monotonic clock", FAILS(EINVAL, clock_settime(CLOCK_MONOTONIC, &now)));
	SAYS("clock_settime 17", "refuses what is no clock", FAILS(EINVAL, clock_settime(9999, &now)));
	SAYS("clock_settime 19", "refuses what is no time", FAILS(EINVAL, clock_settime(CLOCK_REALTIME, &no_time)));
	handle(SIGALRM, count, 0, 0);
	SAYS("alarm", "gives the seconds that were left, and can be taken back", !alarm(100) && alarm(50) == 100 && alarm(0) == 50 && !alarm(0));
	struct itimerval soon = {{0, 0}, {0, 3000}};
	SAYS("setitimer", "signals after its time", !setitimer(ITIMER_REAL, &soon, NULL) && (await(1), last == SIGALRM));
}

int main(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	main_thread = pthread_self();
	creates();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 1;
	sets(timer, CLOCK_MONOTONIC);
	overruns(timer);
	sleeps();
	clocks();
	return 0;
}
