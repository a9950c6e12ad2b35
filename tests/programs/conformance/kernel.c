/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Linux's manual pages say of futexes, membarrier, event descriptors, epoll, poll and select. */
#define _GNU_SOURCE
#include "says.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>

static unsigned word, second;
static int woken, events, eventfd_;

static long futex(unsigned *at, int operation, unsigned value, const void *time, unsigned *to, unsigned value3)
{
	return syscall(SYS_futex, at, operation | FUTEX_PRIVATE_FLAG, value, time, to, value3);
}

static void *wait_on(void *bits)
{
	long code = futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, (unsigned)(uintptr_t)bits);

	__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	return (void *)code;
}

static long wake_until(unsigned *at, int operation, unsigned bits)
{
	long count;

	while ((count = futex(at, operation, 1, NULL, NULL, bits)) == 0)
		usleep(1000);
	return count;
}

static void futexes(void)
{
	struct timespec little = {0, 5000000}, until = from_now(CLOCK_MONOTONIC, 10), wall = from_now(CLOCK_REALTIME, 10);
	pthread_t threads[3];

	SAYS("futex", "does not wait for another value", FAILS(EAGAIN, futex(&word, FUTEX_WAIT, 1, NULL, NULL, 0)));
	SAYS("futex", "gives up after a time", FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT, 0, &little, NULL, 0)));
	SAYS("futex", "gives up at a time", FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET, 0, &until, NULL, 1)) && has_come(CLOCK_MONOTONIC, until));
	SAYS("futex", "gives up at a time of the wall clock", FAILS(ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &wall, NULL, 1)) && has_come(CLOCK_REALTIME, wall));
	SAYS("futex", "refuses what is no time", FAILS(EINVAL, futex(&word, FUTEX_WAIT, 0, &no_time, NULL, 0)));
	SAYS("futex", "refuses no bits", FAILS(EINVAL, futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0)));
	SAYS("futex", "refuses an address between words", FAILS(EINVAL, futex((unsigned *)((char *)&word + 1), FUTEX_WAKE, 1, NULL, NULL, 0)));
	SAYS("futex", "wakes nobody where nobody waits", futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
	threads[0] = begin(wait_on, (void *)1);
	threads[1] = begin(wait_on, (void *)2);
	wake_until(&word, FUTEX_WAKE_BITSET, 2);
	pthread_join(threads[1], NULL);
	SAYS("futex", "wakes by bits", woken == 1);
	SAYS("futex", "wakes no more than wait", wake_until(&word, FUTEX_WAKE, 0) == 1);
	pthread_join(threads[0], NULL);
	long count;
	threads[0] = begin(wait_on, (void *)1);
	while ((count = futex(&word, FUTEX_WAKE, 0, NULL, NULL, 0)) == 0)
		usleep(1000);
	SAYS("futex", "wakes one where none is asked for", count == 1);
	pthread_join(threads[0], NULL);
	SAYS("futex", "refuses a negative count to requeue", FAILS(EINVAL, futex(&word, FUTEX_REQUEUE, 0, (void *)-1, &second, 0)));
	threads[0] = begin(wait_on, (void *)1);
	threads[1] = begin(wait_on, (void *)1);
	settle();
	SAYS("futex", "does not requeue at another value", FAILS(EAGAIN, futex(&word, FUTEX_CMP_REQUEUE, 0, (void *)2, &second, 5)));
	long moved = 0;
	while (moved < 2) {
		moved += futex(&word, FUTEX_CMP_REQUEUE, 0, (void *)2, &second, 0);
		usleep(1000);
	}
	SAYS("futex", "requeues waiters", futex(&word, FUTEX_WAKE, 2, NULL, NULL, 0) == 0);
	SAYS("futex", "wakes them where they are then", futex(&second, FUTEX_WAKE, 2, NULL, NULL, 0) == 2);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	threads[0] = begin(wait_on, (void *)1);
	settle();
	second = 3;
	while ((count = futex(&second, FUTEX_WAKE_OP, 1, (void *)1, &word, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0))) == 0)
		usleep(1000);
	SAYS("futex", "changes a word and wakes its waiters if it compares", count == 1);
	pthread_join(threads[0], NULL);
	second = 0;
	SAYS("futex", "sets a word", futex(&word, FUTEX_WAKE_OP, 1, (void *)1, &second, FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_GT, 5)) == 0 && second == 9);
	long mask = syscall(SYS_membarrier, 0, 0, 0);
	SAYS("membarrier", "tells what it can", mask > 0 && (mask & 8));
	SAYS("membarrier", "refuses before it is registered", FAILS(EPERM, syscall(SYS_membarrier, 8, 0, 0)));
	SAYS("membarrier", "registers, and goes", !syscall(SYS_membarrier, 16, 0, 0) && !syscall(SYS_membarrier, 8, 0, 0));
	SAYS("membarrier", "refuses what it does not know", FAILS(EINVAL, syscall(SYS_membarrier, 1 << 20, 0, 0)));
	SAYS("membarrier", "refuses flags", FAILS(EINVAL, syscall(SYS_membarrier, 8, 77, 0)));
}

static void *read_event(void *unused)
{
	uint64_t value = 0;

	(void)unused;
	if (read(eventfd_, &value, sizeof value) != sizeof value)
		return (void *)-1;
	return (void *)(uintptr_t)value;
}

static void counters(void)
{
	uint64_t value = 0, three = 3;

	eventfd_ = eventfd(2, EFD_NONBLOCK);
	SAYS("eventfd", "gives its count, and is empty", read(eventfd_, &value, 8) == 8 && value == 2 && FAILS(EAGAIN, read(eventfd_, &value, 8)));
	SAYS("eventfd", "refuses less than 8 bytes", FAILS(EINVAL, read(eventfd_, &value, 4)));
	close(eventfd_);
	eventfd_ = eventfd(0, EFD_SEMAPHORE);
	SAYS("eventfd", "adds", write(eventfd_, &three, 8) == 8);
	SAYS("eventfd", "as a semaphore, gives one at a time", read(eventfd_, &value, 8) == 8 && value == 1);
	pthread_t threads[3];
	void *got;
	long sum = 0;
	for (int i = 0; i < 3; i++)
		threads[i] = begin(read_event, NULL);
	settle();
	value = 1;
	write(eventfd_, &value, 8);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &got);
		sum += (long)got;
	}
	SAYS("eventfd", "lets as many readers go on as there are counts", sum == 3);
	close(eventfd_);
}

static void *wait_for_event(void *epoll)
{
	struct epoll_event event;
	int count = epoll_wait(*(int *)epoll, &event, 1, 300);

	if (count > 0)
		__atomic_fetch_add(&events, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *write_later(void *end)
{
	usleep(2000);
	return (void *)(intptr_t)write(*(int *)end, "x", 1);
}

static void polls(void)
{
	int ends[2], epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = 77}, got;
	char bytes[8];

	if (pipe(ends) != 0)
		abort();
	SAYS("epoll_ctl", "refuses a descriptor that is not watched", FAILS(ENOENT, epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event)));
	SAYS("epoll_ctl", "watches", epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
	SAYS("epoll_ctl", "refuses to watch twice", FAILS(EEXIST, epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event)));
	SAYS("epoll_wait", "finds nothing in time", epoll_wait(epoll, &got, 1, 5) == 0);
	pthread_t thread = begin(write_later, &ends[1]);
	SAYS("epoll_wait", "gives the event with its data", epoll_wait(epoll, &got, 1, -1) == 1 && got.data.u32 == 77 && got.events == EPOLLIN);
	pthread_join(thread, NULL);
	SAYS("epoll_wait", "edge-triggered, tells once", epoll_wait(epoll, &got, 1, 0) == 0);
	write(ends[1], "y", 1);
	SAYS("epoll_wait", "edge-triggered, tells of more", epoll_wait(epoll, &got, 1, 0) == 1);
	event.events = EPOLLIN | EPOLLONESHOT;
	epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event);
	SAYS("epoll_wait", "one shot, tells once", epoll_wait(epoll, &got, 1, 0) == 1 && epoll_wait(epoll, &got, 1, 0) == 0);
	epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event);
	SAYS("epoll_ctl", "arms a shot again", epoll_wait(epoll, &got, 1, 0) == 1);
	event.events = EPOLLIN;
	epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event);
	SAYS("epoll_wait", "level-triggered, tells as long as there is something", epoll_wait(epoll, &got, 1, 0) == 1 && epoll_wait(epoll, &got, 1, 0) == 1);
	struct pollfd poll_in = {.fd = ends[0], .events = POLLIN};
	SAYS("poll", "finds what can be read", poll(&poll_in, 1, -1) == 1 && poll_in.revents == POLLIN);
	read(ends[0], bytes, sizeof bytes);
	SAYS("poll", "gives up after its time", poll(&poll_in, 1, 5) == 0);
	SAYS("ppoll", "refuses what is no time", FAILS(EINVAL, ppoll(&poll_in, 1, &no_time, NULL)));
	fd_set set;
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	struct timeval little = {0, 5000};
	SAYS("select", "gives up after its time, with an empty set", select(ends[0] + 1, &set, NULL, NULL, &little) == 0 && !FD_ISSET(ends[0], &set));
	thread = begin(write_later, &ends[1]);
	FD_SET(ends[0], &set);
	SAYS("pselect", "waits for another thread", pselect(ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set));
	pthread_join(thread, NULL);
	read(ends[0], bytes, sizeof bytes);
	event.events = EPOLLIN | EPOLLET;
	epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		threads[i] = begin(wait_for_event, &epoll);
	settle();
	write(ends[1], "z", 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	SAYS("epoll_wait", "edge-triggered, tells one of several that wait", events == 1);
	close(ends[1]);
	SAYS("epoll_wait", "tells of the other end's close", epoll_wait(epoll, &got, 1, -1) == 1 && (got.events & EPOLLHUP));
	SAYS("poll", "tells of the other end's close", poll(&poll_in, 1, -1) == 1 && (poll_in.revents & POLLHUP));
	SAYS("epoll_ctl", "leaves off watching", !epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL) && epoll_wait(epoll, &got, 1, 0) == 0);
}

int main(void)
{
	futexes();
	counters();
	polls();
	return 0;
}
