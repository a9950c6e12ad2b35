/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timers that signal, call or count, by several clocks. */
#define _GNU_SOURCE
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#define MS 1000000L

static volatile sig_atomic_t caught;
static volatile int said;
static siginfo_t told;
static volatile int first_overrun, expiries;
static pthread_t main_thread, caught_by;
static sem_t called;

static void count(int signal)
{
	(void)signal;
	caught_by = pthread_self();
	caught++;
}

static void tell(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	told = *info;
	if (!caught)
		first_overrun = info->si_overrun, expiries = 0;
	expiries += 1 + info->si_overrun;
	caught_by = pthread_self();
	caught++;
}

static long now(clockid_t clock)
{
	struct timespec time;

	CHECK(clock_gettime(clock, &time) == 0);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static struct itimerspec in(long first, long interval)
{
	return (struct itimerspec){
		.it_value = {first / (1000 * MS), first % (1000 * MS)},
		.it_interval = {interval / (1000 * MS), interval % (1000 * MS)},
	};
}

static void alarms(void)
{
	long begin = now(CLOCK_MONOTONIC);

	handle(SIGALRM, count, 0);
	/* On a busy host it may come before whatever waits for it. */
	CHECK(alarm(1000) == 0 && alarm(1) > 900);
	while (!caught)
		usleep(10000);
	CHECK(caught == 1 && now(CLOCK_MONOTONIC) - begin >= 1000 * MS);
	CHECK(alarm(500) == 0);
	unsigned rest = alarm(0);
	CHECK(rest > 400 && rest <= 500 && alarm(0) == 0);
	/* One of several comes within the call. */
	CHECK(ualarm(20000, 20000) == 0);
	FAILS(EINTR, pause());
	ualarm(0, 0);
	CHECK(caught >= 2);
}

static void intervals(void)
{
	struct itimerval every = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}}, left;

	caught = 0;
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
	while (caught < 4)
		;
	CHECK(getitimer(ITIMER_REAL, &left) == 0 && left.it_interval.tv_usec == 5000 && left.it_value.tv_usec <= 5000);
	CHECK(setitimer(ITIMER_REAL, &off, &left) == 0 && left.it_interval.tv_usec == 5000);
	CHECK(getitimer(ITIMER_REAL, &left) == 0 && !left.it_value.tv_sec && !left.it_value.tv_usec);
	every.it_value.tv_usec = 1000000;
	FAILS(EINVAL, setitimer(ITIMER_REAL, &every, NULL));
	FAILS(EINVAL, setitimer(7, &off, NULL));
}

/* Time on CPUs only: a sleep does not count. */
static void cpu_time(int which, int number)
{
	struct itimerval once = {{0, 0}, {0, 20000}};

	handle(number, count, SA_RESTART);
	caught = 0;
	long begin = now(CLOCK_PROCESS_CPUTIME_ID);
	CHECK(setitimer(which, &once, NULL) == 0);
	usleep(100000);
	CHECK(caught == 0);
	while (!caught)
		;
	CHECK(now(CLOCK_PROCESS_CPUTIME_ID) - begin >= 10 * MS);
}

static void posix_signals(void)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value = {.sival_int = 99}};
	struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
	struct itimerspec time = in(5 * MS, 0), left;

	CHECK(sigaction(SIGRTMIN, &action, NULL) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_gettime(timer, &left) == 0 && !left.it_value.tv_sec && !left.it_value.tv_nsec);
	caught = 0;
	CHECK(timer_settime(timer, 0, &time, NULL) == 0);
	/* On a busy host it may have come by now. */
	CHECK(timer_gettime(timer, &left) == 0 && left.it_value.tv_nsec <= 5 * MS && (left.it_value.tv_nsec > 0 || caught));
	while (!caught)
		;
	CHECK(told.si_code == SI_TIMER && told.si_value.sival_int == 99 && told.si_overrun == 0);
	CHECK(timer_getoverrun(timer) == 0);
	/* Blocked for ten periods: one signal, and the others are overrun. */
	block(SIG_BLOCK, SIGRTMIN, 0);
	time = in(5 * MS, 5 * MS);
	long begin = now(CLOCK_MONOTONIC);
	CHECK(timer_settime(timer, 0, &time, NULL) == 0);
	usleep(52000);
	caught = 0;
	block(SIG_UNBLOCK, SIGRTMIN, 0);
	/* On a busy host the next may have come by now, as its own. */
	int overrun = timer_getoverrun(timer);
	CHECK(caught >= 1 && first_overrun >= 8);
	CHECK(caught > 1 || overrun == first_overrun);
	CHECK(expiries <= (now(CLOCK_MONOTONIC) - begin) / (5 * MS));
	time = in(0, 0);
	CHECK(timer_settime(timer, 0, &time, &left) == 0 && left.it_interval.tv_nsec == 5 * MS);
	/* At a time that a clock shows, and one that is past. */
	caught = 0;
	time = in(now(CLOCK_MONOTONIC) + 5 * MS, 0);
	CHECK(timer_settime(timer, TIMER_ABSTIME, &time, NULL) == 0);
	while (!caught)
		;
	CHECK(now(CLOCK_MONOTONIC) >= time.it_value.tv_sec * 1000 * MS + time.it_value.tv_nsec);
	time = in(1, 0);
	CHECK(timer_settime(timer, TIMER_ABSTIME, &time, NULL) == 0);
	while (caught < 2)
		;
	time.it_value.tv_nsec = -1;
	FAILS(EINVAL, timer_settime(timer, 0, &time, NULL));
	CHECK(timer_delete(timer) == 0);
	event.sigev_signo = 1000;
	FAILS(EINVAL, timer_create(CLOCK_MONOTONIC, &event, &timer));
	event.sigev_signo = SIGUSR1;
	FAILS(EINVAL, timer_create(1000, &event, &timer));
}

static volatile pid_t number;
static volatile int stop;

static void *spin(void *unused)
{
	number = syscall(SYS_gettid);
	while (!stop)
		;
	return unused;
}

static void to_a_thread(void)
{
	pthread_t thread;
	timer_t timer;
	struct itimerspec time = in(5 * MS, 0);

	CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	while (!number)
		;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	event._sigev_un._tid = number;
	CHECK(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
	caught = 0;
	CHECK(timer_settime(timer, 0, &time, NULL) == 0);
	while (!caught)
		;
	CHECK(pthread_equal(caught_by, thread));
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0 && timer_delete(timer) == 0);
}

static void call(union sigval value)
{
	CHECK(!pthread_equal(pthread_self(), main_thread));
	said += value.sival_int;
	sem_post(&called);
}

static void by_call(void)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value = {.sival_int = 5}};
	struct itimerspec time = in(5 * MS, 10 * MS);

	event.sigev_notify_function = call;
	CHECK(sem_init(&called, 0, 0) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &time, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(sem_wait(&called) == 0);
	CHECK(said >= 15);
	CHECK(timer_delete(timer) == 0);
	event.sigev_notify = SIGEV_NONE;
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &time, NULL) == 0);
	usleep(7000);
	CHECK(timer_gettime(timer, &time) == 0 && time.it_value.tv_nsec <= 10 * MS && time.it_value.tv_nsec > 0);
	CHECK(timer_delete(timer) == 0);
}

static void descriptors(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), copy;
	struct itimerspec time = in(10 * MS, 0), left;
	uint64_t times = 0;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	long begin = now(CLOCK_MONOTONIC);

	CHECK(fd >= 0 && poll(&wait, 1, 0) == 0);
	CHECK(timerfd_settime(fd, 0, &time, NULL) == 0);
	CHECK(timerfd_gettime(fd, &left) == 0 && left.it_value.tv_nsec <= 10 * MS);
	CHECK(left.it_value.tv_nsec > 0 || poll(&wait, 1, 0) == 1);
	CHECK(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1);
	CHECK(now(CLOCK_MONOTONIC) - begin >= 10 * MS);
	time = in(4 * MS, 4 * MS);
	CHECK(timerfd_settime(fd, 0, &time, NULL) == 0);
	CHECK(poll(&wait, 1, 1000) == 1 && wait.revents == POLLIN);
	usleep(30000);
	CHECK(read(fd, &times, sizeof(times)) == sizeof(times) && times >= 7);
	copy = dup(fd);
	CHECK(copy >= 0 && close(fd) == 0);
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = copy}};
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, copy, &event) == 0);
	CHECK(epoll_wait(epoll, &event, 1, 1000) == 1 && event.data.fd == copy);
	CHECK(read(copy, &times, sizeof(times)) == sizeof(times) && times >= 1);
	time = in(now(CLOCK_REALTIME) + 5 * MS, 0);
	fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL) == 0);
	FAILS(EAGAIN, read(fd, &times, sizeof(times)));
	usleep(8000);
	CHECK(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1);
	CHECK(close(fd) == 0 && close(copy) == 0 && close(epoll) == 0);
	FAILS(EINVAL, timerfd_create(1000, 0));
}

int main(void)
{
	main_thread = pthread_self();
	alarms();
	intervals();
	cpu_time(ITIMER_VIRTUAL, SIGVTALRM);
	cpu_time(ITIMER_PROF, SIGPROF);
	posix_signals();
	to_a_thread();
	by_call();
	descriptors();
	puts("timers are right");
	return 0;
}
