/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that wait for something up to a time: semaphores, select and epoll, several messages at once. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000, MESSAGES = 5, BYTES = 60000 };

static int pair[2], semaphores;

static long now(void)
{
	struct timespec time;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
	return time.tv_sec * 1000L * MS + time.tv_nsec;
}

static struct timespec lasting(long ns)
{
	return (struct timespec){ ns / (1000L * MS), ns % (1000L * MS) };
}

static void *raise_semaphore(void *unused)
{
	struct sembuf up = { 0, 2, 0 };

	usleep(2000);
	CHECK(semop(semaphores, &up, 1) == 0);
	return unused;
}

static int timed_by_number(int set, struct sembuf *operations, size_t count, const struct timespec *time)
{
	return (int)syscall(SYS_semtimedop, set, operations, count, time);
}

static void semaphores_in_time(int (*timed)(int, struct sembuf *, size_t, const struct timespec *))
{
	struct sembuf down = { 0, -1, 0 }, try = { 0, -1, IPC_NOWAIT };
	struct timespec five = lasting(5 * MS), second = lasting(1000L * MS), wrong = { 0, 1000L * MS };
	pthread_t other;
	long begin = now();

	CHECK((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0);
	CHECK(timed(semaphores, &down, 1, &five) == -1 && errno == EAGAIN && now() - begin >= 5 * MS);
	CHECK(timed(semaphores, &try, 1, &second) == -1 && errno == EAGAIN);
	CHECK(timed(semaphores, &down, 1, &wrong) == -1 && errno == EINVAL);
	wrong = (struct timespec){ -1, 0 };
	CHECK(timed(semaphores, &down, 1, &wrong) == -1 && errno == EINVAL);
	begin = now();
	CHECK(pthread_create(&other, NULL, raise_semaphore, NULL) == 0);
	CHECK(timed(semaphores, &down, 1, &second) == 0 && now() - begin >= 2 * MS);
	CHECK(timed(semaphores, &down, 1, NULL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(semctl(semaphores, 0, IPC_RMID) == 0);
}

static void *write_soon(void *unused)
{
	usleep(2000);
	CHECK(write(pair[1], "x", 1) == 1);
	return unused;
}

static void select_tells_what_is_left(void)
{
	struct timeval time = { 0, 3000 };
	struct timespec fine = lasting(3 * MS);
	pthread_t writer;
	fd_set set;
	char c;

	CHECK(pipe(pair) == 0);
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, &time) == 0 && time.tv_sec == 0 && time.tv_usec == 0);
	time = (struct timeval){ 5, 0 };
	FD_SET(pair[0], &set);
	CHECK(pthread_create(&writer, NULL, write_soon, NULL) == 0);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, &time) == 1 && FD_ISSET(pair[0], &set));
	CHECK(time.tv_sec == 4 && (!simulated() || time.tv_usec <= 998000));
	CHECK(pthread_join(writer, NULL) == 0);
	FD_ZERO(&set);
	CHECK(pselect(0, &set, NULL, NULL, &fine, NULL) == 0 && fine.tv_nsec == 3 * MS);
	CHECK(ppoll(NULL, 0, &fine, NULL) == 0 && fine.tv_nsec == 3 * MS);
	CHECK(syscall(SYS_ppoll, NULL, 0, &fine, NULL, 8) == 0 && fine.tv_nsec == 0);
	fine = lasting(3 * MS);
	CHECK(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &fine, NULL) == 0 && fine.tv_nsec == 0);
	CHECK(read(pair[0], &c, 1) == 1 && close(pair[0]) == 0 && close(pair[1]) == 0);
}

static int pwait2_by_number(int epoll, struct epoll_event *events, int most, const struct timespec *time,
			    const sigset_t *mask)
{
	return (int)syscall(SYS_epoll_pwait2, epoll, events, most, time, mask, 8);
}

static void epoll_by_nanoseconds(int (*wait)(int, struct epoll_event *, int, const struct timespec *,
					     const sigset_t *))
{
	struct epoll_event event = { .events = EPOLLIN };
	struct timespec some = lasting(1500000), wrong = { -1, 0 };
	int epoll = epoll_create1(0);
	pthread_t writer;
	long begin = now();

	CHECK(pipe(pair) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) == 0);
	CHECK(wait(epoll, &event, 1, &some, NULL) == 0 && now() - begin >= 1500000);
	CHECK(some.tv_nsec == 1500000);
	CHECK(wait(epoll, &event, 1, &wrong, NULL) == -1 && errno == EINVAL);
	CHECK(pthread_create(&writer, NULL, write_soon, NULL) == 0);
	CHECK(wait(epoll, &event, 1, NULL, NULL) == 1 && event.events == EPOLLIN);
	CHECK(pthread_join(writer, NULL) == 0 && close(epoll) == 0);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

static struct mmsghdr messages[MESSAGES];
static struct iovec parts[MESSAGES];
static int numbers[MESSAGES];

static void prepare(void)
{
	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < MESSAGES; i++) {
		numbers[i] = -1;
		parts[i] = (struct iovec){ &numbers[i], sizeof(int) };
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

static void *send_numbers(void *pause_us)
{
	for (int i = 0; i < MESSAGES; i++) {
		usleep((unsigned)(long)pause_us);
		CHECK(send(pair[1], &i, sizeof(i), 0) == sizeof(i));
	}
	return NULL;
}

static int receive_by_number(int fd, struct mmsghdr *list, unsigned count, int flags, struct timespec *time)
{
	return (int)syscall(SYS_recvmmsg, fd, list, count, flags, time);
}

static void many_messages(int (*receive)(int, struct mmsghdr *, unsigned, int, struct timespec *))
{
	struct timespec five = lasting(5 * MS), long_time = lasting(5000L * MS), wrong = { 0, -1 };
	pthread_t sender;
	int count, pause = 2000;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	/* All of them, by waiting for each. */
	prepare();
	CHECK(pthread_create(&sender, NULL, send_numbers, (void *)(long)pause) == 0);
	CHECK(receive(pair[0], messages, MESSAGES, 0, &long_time) == MESSAGES);
	CHECK(long_time.tv_sec == 4 && long_time.tv_nsec <= 990L * MS);
	for (int i = 0; i < MESSAGES; i++)
		CHECK(numbers[i] == i && messages[i].msg_len == sizeof(int));
	CHECK(pthread_join(sender, NULL) == 0);
	/* The time is looked at after each. */
	prepare();
	CHECK(pthread_create(&sender, NULL, send_numbers, (void *)(long)pause) == 0);
	count = receive(pair[0], messages, MESSAGES, 0, &five);
	CHECK(count > 0 && five.tv_sec == 0);
	CHECK(!simulated() || (count <= 3 && five.tv_nsec == 0));
	CHECK(receive(pair[0], messages, (unsigned)(MESSAGES - count), 0, NULL) == MESSAGES - count);
	CHECK((count == MESSAGES || numbers[0] == count) && pthread_join(sender, NULL) == 0);
	/* It waits for the first only. */
	prepare();
	CHECK(pthread_create(&sender, NULL, send_numbers, (void *)(long)pause) == 0);
	count = receive(pair[0], messages, MESSAGES, MSG_WAITFORONE, NULL);
	CHECK(count > 0 && (!simulated() || count == 1) && numbers[0] == 0 && pthread_join(sender, NULL) == 0);
	if (count < MESSAGES) {
		CHECK(receive(pair[0], messages, MESSAGES, MSG_WAITFORONE, NULL) == MESSAGES - count);
		CHECK(numbers[0] == count && numbers[MESSAGES - count - 1] == MESSAGES - 1);
	}
	CHECK(receive(pair[0], messages, MESSAGES, MSG_DONTWAIT, NULL) == -1 && errno == EAGAIN);
	CHECK(receive(pair[0], messages, MESSAGES, 0, &wrong) == -1 && errno == EINVAL);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

static void *receive_big(void *unused)
{
	static char bytes[BYTES];

	for (int i = 0; i < 4 * MESSAGES; i++) {
		usleep(200);
		CHECK(recv(pair[0], bytes, BYTES, 0) == BYTES && bytes[BYTES - 1] == 'b');
	}
	return unused;
}

static void more_messages_than_there_is_room_for(void)
{
	static char bytes[BYTES];
	static struct iovec part = { bytes, BYTES };
	static struct mmsghdr many[4 * MESSAGES];
	pthread_t receiver;

	memset(bytes, 'b', BYTES);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
	for (int i = 0; i < 4 * MESSAGES; i++) {
		many[i].msg_hdr.msg_iov = &part;
		many[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK(pthread_create(&receiver, NULL, receive_big, NULL) == 0);
	CHECK(sendmmsg(pair[1], many, 4 * MESSAGES, 0) == 4 * MESSAGES);
	for (int i = 0; i < 4 * MESSAGES; i++)
		CHECK(many[i].msg_len == BYTES);
	CHECK(pthread_join(receiver, NULL) == 0);
	CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
}

static mqd_t queue;

static void *send_later(void *unused)
{
	usleep(2000);
	CHECK(mq_send(queue, "later", 5, 3) == 0);
	return unused;
}

static struct timespec from_now(long ns)
{
	struct timespec time;

	CHECK(clock_gettime(CLOCK_REALTIME, &time) == 0);
	ns += time.tv_nsec;
	return (struct timespec){ time.tv_sec + ns / (1000L * MS), ns % (1000L * MS) };
}

static void queues_in_time(void)
{
	struct mq_attr one = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	struct timespec soon, late, wrong = { 0, -1 };
	pthread_t sender;
	unsigned priority;
	char name[32], bytes[8];
	long begin;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "/limits-%d", i);
		queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &one);
		if (queue != (mqd_t)-1 || errno != EEXIST)
			break;
	}
	if (queue == (mqd_t)-1 && errno == ENOSYS)
		return;
	CHECK(queue != (mqd_t)-1 && mq_unlink(name) == 0);
	begin = now();
	soon = from_now(3 * MS);
	CHECK(mq_timedreceive(queue, bytes, 8, NULL, &soon) == -1 && errno == ETIMEDOUT && now() - begin >= 3 * MS);
	CHECK(mq_timedreceive(queue, bytes, 8, NULL, &soon) == -1 && errno == ETIMEDOUT);
	CHECK(mq_timedreceive(queue, bytes, 8, NULL, &wrong) == -1 && errno == EINVAL);
	late = from_now(2000L * MS);
	CHECK(pthread_create(&sender, NULL, send_later, NULL) == 0);
	CHECK(mq_timedreceive(queue, bytes, 8, &priority, &late) == 5 && priority == 3);
	CHECK(pthread_join(sender, NULL) == 0);
	CHECK(mq_timedsend(queue, "a", 1, 0, &late) == 0);
	soon = from_now(3 * MS);
	CHECK(mq_timedsend(queue, "b", 1, 0, &soon) == -1 && errno == ETIMEDOUT);
	CHECK(mq_close(queue) == 0);
}

int main(void)
{
	queues_in_time();
	semaphores_in_time(semtimedop);
	semaphores_in_time(timed_by_number);
	select_tells_what_is_left();
	epoll_by_nanoseconds(epoll_pwait2);
	epoll_by_nanoseconds(pwait2_by_number);
	many_messages(recvmmsg);
	many_messages(receive_by_number);
	more_messages_than_there_is_room_for();
	puts("time limits are right");
	return 0;
}
