/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads talk through socket pairs and loopback connections, by every way of waiting for them. */
#define _GNU_SOURCE
#include "check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 6, ROUNDS = 50, BIG = 3000000 };

static struct sockaddr_in address;

static int listening(int backlog)
{
	socklen_t room = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = 0;
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(fd, backlog) == 0 && getsockname(fd, (struct sockaddr *)&address, &room) == 0);
	return fd;
}

static void *client(void *me)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	for (long i = 0; i < ROUNDS; i++) {
		long there = (long)me * 1000 + i, back;

		CHECK(send(fd, &there, sizeof(there), 0) == sizeof(there));
		CHECK(recv(fd, &back, sizeof(back), MSG_WAITALL) == sizeof(back) && back == there + 1);
	}
	CHECK(shutdown(fd, SHUT_WR) == 0);
	CHECK(close(fd) == 0);
	return NULL;
}

static void *serve(void *connection)
{
	int fd = (int)(long)connection;
	long number;
	ssize_t got;

	while ((got = read(fd, &number, sizeof(number))) == sizeof(number)) {
		number++;
		CHECK(write(fd, &number, sizeof(number)) == sizeof(number));
	}
	CHECK(got == 0 && close(fd) == 0);
	return NULL;
}

static void a_thread_a_connection(void)
{
	int fd = listening(2);
	pthread_t clients[CLIENTS], servers[CLIENTS];

	for (long i = 0; i < CLIENTS; i++)
		CHECK(pthread_create(&clients[i], NULL, client, (void *)i) == 0);
	for (int i = 0; i < CLIENTS; i++) {
		long connection = accept(fd, NULL, NULL);

		CHECK(connection >= 0);
		CHECK(pthread_create(&servers[i], NULL, serve, (void *)connection) == 0);
	}
	for (int i = 0; i < CLIENTS; i++)
		CHECK(pthread_join(clients[i], NULL) == 0 && pthread_join(servers[i], NULL) == 0);
	CHECK(close(fd) == 0);
}

static void one_loop_for_all(void)
{
	int fd = listening(CLIENTS), epoll = epoll_create1(0), open = 0, seen = 0;
	struct epoll_event events[4], event = { .events = EPOLLIN, .data.fd = fd };
	pthread_t clients[CLIENTS];

	CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	CHECK(epoll_wait(epoll, events, 4, 3) == 0);
	for (long i = 0; i < CLIENTS; i++)
		CHECK(pthread_create(&clients[i], NULL, client, (void *)i) == 0);
	while (seen < CLIENTS || open) {
		int count = epoll_wait(epoll, events, 4, -1);

		CHECK(count > 0);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == fd) {
				event.data.fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
				CHECK(event.data.fd >= 0);
				CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) == 0);
				open++;
				seen++;
				continue;
			}
			long number;
			ssize_t got = recv(events[i].data.fd, &number, sizeof(number), 0);
			if (got > 0) {
				CHECK(got == sizeof(number));
				number++;
				CHECK(send(events[i].data.fd, &number, sizeof(number), 0) == got);
			} else if (got == 0) {
				CHECK(close(events[i].data.fd) == 0);
				open--;
			}
		}
	}
	for (int i = 0; i < CLIENTS; i++)
		CHECK(pthread_join(clients[i], NULL) == 0);
	CHECK(close(fd) == 0 && close(epoll) == 0);
}

static char big[BIG];

static void *send_big(void *fd)
{
	for (int i = 0; i < BIG; i++)
		big[i] = (char)(i * 7 >> 2);
	CHECK(send((int)(long)fd, big, BIG, 0) == BIG);
	CHECK(close((int)(long)fd) == 0);
	return NULL;
}

static void more_than_a_socket_holds(void)
{
	static char here[BIG];
	int pair[2];
	pthread_t sender;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(pthread_create(&sender, NULL, send_big, (void *)(long)pair[0]) == 0);
	CHECK(recv(pair[1], here, BIG, MSG_WAITALL) == BIG);
	CHECK(recv(pair[1], here, 1, 0) == 0);
	CHECK(pthread_join(sender, NULL) == 0 && memcmp(here, big, BIG) == 0);
	CHECK(close(pair[1]) == 0);
}

static int datagrams[2];

static void *send_datagrams(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		CHECK(send(datagrams[0], &i, sizeof(i), 0) == sizeof(i));
	return NULL;
}

static void datagrams_by_select(void)
{
	pthread_t sender;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
	CHECK(pthread_create(&sender, NULL, send_datagrams, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		int number;
		fd_set set;

		FD_ZERO(&set);
		FD_SET(datagrams[1], &set);
		CHECK(select(datagrams[1] + 1, &set, NULL, NULL, NULL) == 1);
		CHECK(FD_ISSET(datagrams[1], &set));
		CHECK(recvfrom(datagrams[1], &number, sizeof(number), 0, NULL, NULL) == sizeof(number));
		CHECK(number == i);
	}
	CHECK(pthread_join(sender, NULL) == 0);
}

static void time_runs_out(void)
{
	struct timeval two = { 0, 2000 }, ten = { 0, 10000 };
	struct timespec before, after;
	fd_set set;
	int pair[2], number;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &two, sizeof(two)) == 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK(recv(pair[0], &number, sizeof(number), 0) == -1 && errno == EAGAIN);
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, &ten) == 0 && !FD_ISSET(pair[0], &set));
	struct pollfd fd = { pair[0], POLLIN, 0 };
	CHECK(poll(&fd, 1, 10) == 0 && poll(NULL, 0, 10) == 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(ms >= 31);
	CHECK(recv(pair[0], &number, sizeof(number), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	CHECK(recv(99, &number, sizeof(number), 0) == -1 && errno == EBADF);
}

static int waits_here[2];

static void *wait_for_end(void *unused)
{
	char c;

	(void)unused;
	CHECK(recv(waits_here[0], &c, 1, 0) == 0);
	return NULL;
}

static void shutdown_wakes(void)
{
	pthread_t waiter;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, waits_here) == 0);
	CHECK(pthread_create(&waiter, NULL, wait_for_end, NULL) == 0);
	usleep(1000);
	CHECK(shutdown(waits_here[1], SHUT_RDWR) == 0);
	CHECK(pthread_join(waiter, NULL) == 0);
}

int main(void)
{
	a_thread_a_connection();
	one_loop_for_all();
	more_than_a_socket_holds();
	datagrams_by_select();
	time_runs_out();
	shutdown_wakes();
	puts("sockets are right");
	return 0;
}
