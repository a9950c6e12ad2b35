/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes that the kernel moves from one descriptor to another: who moves them waits for either side, and others go on. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { BIG = 1 << 20, SMALL = 3000, BACKLOG = 2 };

static unsigned char big[BIG];
static int to[2], from[2], file;

static unsigned char byte(int i)
{
	return (unsigned char)(i * 7 >> 2);
}

static void make_file(void)
{
	char name[] = "/tmp/moved-XXXXXX";

	for (int i = 0; i < BIG; i++)
		big[i] = byte(i);
	CHECK((file = mkstemp(name)) >= 0 && unlink(name) == 0);
	CHECK(write(file, big, BIG) == BIG && lseek(file, 0, SEEK_SET) == 0);
}

/* Reads what comes, slowly: the sender waits most of the time. */
static void *read_all(void *bytes)
{
	static unsigned char piece[50000];

	for (int at = 0; at < (int)(long)bytes;) {
		ssize_t got = read(to[0], piece, sizeof(piece));

		CHECK(got > 0);
		for (int i = 0; i < got; i++, at++)
			CHECK(piece[i] == byte(at));
		usleep(30);
	}
	return NULL;
}

static void *write_later(void *fd)
{
	usleep(1000);
	CHECK(write((int)(long)fd, big, SMALL) == SMALL);
	return NULL;
}

static void close_all(void)
{
	CHECK(close(to[0]) == 0 && close(to[1]) == 0);
}

static void a_file_to_a_socket(void)
{
	pthread_t reader;
	off_t begin = 0;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, to) == 0);
	CHECK(pthread_create(&reader, NULL, read_all, (void *)(long)BIG) == 0);
	CHECK(sendfile(to[1], file, &begin, BIG) == BIG && begin == BIG);
	CHECK(pthread_join(reader, NULL) == 0);
	/* It ends with the file. */
	begin = BIG - SMALL;
	CHECK(sendfile(to[1], file, &begin, BIG) == SMALL);
	CHECK(sendfile(to[1], file, &begin, BIG) == 0);
	CHECK(fcntl(to[1], F_SETFL, O_NONBLOCK) == 0);
	for (begin = 0; begin < BIG;)
		if (sendfile(to[1], file, &begin, (size_t)(BIG - begin)) < 0)
			break;
	CHECK(errno == EAGAIN && begin > 0 && begin < BIG);
	close_all();
}

static void a_file_to_a_pipe(void)
{
	pthread_t reader;
	off_t begin = 0;
	loff_t place = 0;

	CHECK(pipe(to) == 0);
	CHECK(pthread_create(&reader, NULL, read_all, (void *)(long)BIG) == 0);
	while (begin < BIG)
		CHECK(sendfile(to[1], file, &begin, (size_t)(BIG - begin)) > 0);
	CHECK(pthread_join(reader, NULL) == 0);
	CHECK(pthread_create(&reader, NULL, read_all, (void *)(long)BIG) == 0);
	while (place < BIG)
		CHECK(splice(file, &place, to[1], NULL, (size_t)(BIG - place), 0) > 0);
	CHECK(pthread_join(reader, NULL) == 0);
	for (place = 0; place < BIG;)
		if (splice(file, &place, to[1], NULL, (size_t)(BIG - place), SPLICE_F_NONBLOCK) < 0)
			break;
	CHECK(errno == EAGAIN && place > 0 && place < BIG);
	close_all();
}

static void *write_big(void *fd)
{
	CHECK(write((int)(long)fd, big, BIG) == BIG);
	return NULL;
}

static void a_pipe_to_a_socket(void)
{
	pthread_t reader, writer;
	int done = 0;

	CHECK(pipe(from) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, to) == 0);
	CHECK(pthread_create(&reader, NULL, read_all, (void *)(long)BIG) == 0);
	CHECK(pthread_create(&writer, NULL, write_big, (void *)(long)from[1]) == 0);
	while (done < BIG) {
		ssize_t moved = splice(from[0], NULL, to[1], NULL, BIG, 0);

		CHECK(moved > 0);
		done += (int)moved;
	}
	CHECK(pthread_join(reader, NULL) == 0 && pthread_join(writer, NULL) == 0);
	CHECK(splice(from[0], NULL, to[1], NULL, BIG, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(close(from[1]) == 0 && splice(from[0], NULL, to[1], NULL, BIG, 0) == 0);
	CHECK(close(from[0]) == 0);
	close_all();
}

static void a_socket_to_a_pipe(void)
{
	pthread_t writer;
	int ends[2];

	CHECK(pipe(to) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(pthread_create(&writer, NULL, write_later, (void *)(long)ends[1]) == 0);
	CHECK(splice(ends[0], NULL, to[1], NULL, SMALL, 0) == SMALL);
	CHECK(pthread_join(writer, NULL) == 0);
	read_all((void *)(long)SMALL);
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
	close_all();
}

static void from_pipe_to_pipe(void)
{
	static unsigned char piece[SMALL];
	pthread_t writer;

	CHECK(pipe(from) == 0 && pipe(to) == 0);
	CHECK(pthread_create(&writer, NULL, write_later, (void *)(long)from[1]) == 0);
	CHECK(tee(from[0], to[1], SMALL, 0) == SMALL);
	CHECK(splice(from[0], NULL, to[1], NULL, SMALL, 0) == SMALL);
	CHECK(read(to[0], piece, SMALL) == SMALL && memcmp(piece, big, SMALL) == 0);
	CHECK(pthread_join(writer, NULL) == 0);
	CHECK(tee(from[0], to[1], SMALL, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(pthread_create(&writer, NULL, write_later, (void *)(long)from[1]) == 0);
	CHECK(syscall(SYS_splice, from[0], NULL, to[1], NULL, SMALL, 0) == SMALL);
	CHECK(pthread_join(writer, NULL) == 0);
	CHECK(close(from[0]) == 0 && close(from[1]) == 0);
	close_all();
}

static void *read_page_later(void *unused)
{
	static unsigned char page[4096];

	usleep(2000);
	CHECK(read(to[0], page, sizeof(page)) == sizeof(page));
	return unused;
}

static void memory_to_a_pipe(void)
{
	struct iovec part = { big, BIG };
	static unsigned char piece[SMALL];
	struct iovec there = { piece, SMALL };
	pthread_t other;

	CHECK(pipe(to) == 0);
	CHECK(pthread_create(&other, NULL, read_all, (void *)(long)BIG) == 0);
	while (part.iov_len) {
		ssize_t moved = vmsplice(to[1], &part, 1, 0);

		CHECK(moved > 0);
		part.iov_base = (char *)part.iov_base + moved;
		part.iov_len -= (size_t)moved;
	}
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(vmsplice(to[0], &there, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(pthread_create(&other, NULL, write_later, (void *)(long)to[1]) == 0);
	CHECK(vmsplice(to[0], &there, 1, 0) == SMALL && memcmp(piece, big, SMALL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	close_all();
}

/* Only the call's flag says that it does not wait, not the pipe's mode. */
static void memory_whatever_the_mode(void)
{
	static unsigned char piece[SMALL], page[4096];
	struct iovec there = { piece, SMALL }, one = { page, sizeof(page) };
	pthread_t other;

	CHECK(pipe2(to, O_NONBLOCK) == 0);
	CHECK(vmsplice(to[0], &there, 1, SPLICE_F_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(pthread_create(&other, NULL, write_later, (void *)(long)to[1]) == 0);
	CHECK(vmsplice(to[0], &there, 1, 0) == SMALL && memcmp(piece, big, SMALL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	while (vmsplice(to[1], &one, 1, SPLICE_F_NONBLOCK) == sizeof(page))
		;
	CHECK(errno == EAGAIN && fcntl(to[0], F_SETFL, 0) == 0);
	CHECK(pthread_create(&other, NULL, read_page_later, NULL) == 0);
	CHECK(vmsplice(to[1], &one, 1, 0) == sizeof(page));
	CHECK(pthread_join(other, NULL) == 0);
	close_all();
}

static void vectors_with_flags(void)
{
	static unsigned char piece[SMALL];
	struct iovec there[2] = { { piece, 1000 }, { piece + 1000, SMALL - 1000 } }, all = { big, BIG };
	pthread_t other;

	CHECK(pipe(to) == 0);
	CHECK(pthread_create(&other, NULL, write_later, (void *)(long)to[1]) == 0);
	CHECK(preadv2(to[0], there, 2, -1, 0) == SMALL && memcmp(piece, big, SMALL) == 0);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(pthread_create(&other, NULL, write_later, (void *)(long)to[1]) == 0);
	CHECK(syscall(SYS_preadv2, to[0], there, 2, -1L, -1L, 0) == SMALL);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(preadv2(to[0], there, 2, 0, 0) == -1 && errno == ESPIPE);
	CHECK(pthread_create(&other, NULL, read_all, (void *)(long)BIG) == 0);
	CHECK(pwritev2(to[1], &all, 1, -1, 0) == BIG);
	CHECK(pthread_join(other, NULL) == 0);
	CHECK(preadv2(file, there, 2, 0, 0) == SMALL && memcmp(piece, big, SMALL) == 0);
	CHECK(lseek(file, 100, SEEK_SET) == 100);
	CHECK(preadv2(file, there, 2, -1, 0) == SMALL && memcmp(piece, big + 100, SMALL) == 0);
	CHECK(lseek(file, 0, SEEK_CUR) == 100 + SMALL);
	close_all();
}

static struct sockaddr_un server;
static int listener;

static void *accept_later(void *unused)
{
	usleep(2000);
	for (int i = 0; i < BACKLOG + 2; i++)
		CHECK(accept(listener, NULL, NULL) >= 0);
	return unused;
}

static void a_full_backlog(void)
{
	int fd, clients[BACKLOG + 2];
	socklen_t room = sizeof(server);
	pthread_t other;

	server.sun_family = AF_UNIX;
	CHECK((listener = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
	/* By a name that the kernel chooses. */
	CHECK(bind(listener, (struct sockaddr *)&server, sizeof(server.sun_family)) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&server, &room) == 0 && listen(listener, BACKLOG) == 0);
	for (int i = 0; i <= BACKLOG; i++) {
		CHECK((clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0);
		CHECK(connect(clients[i], (struct sockaddr *)&server, room) == 0);
	}
	CHECK((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0);
	CHECK(connect(fd, (struct sockaddr *)&server, room) == -1 && errno == EAGAIN);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	struct timeval soon = { 0, 1000 }, never = { 0, 0 };
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) == 0);
	CHECK(connect(fd, (struct sockaddr *)&server, room) == -1 && errno == EAGAIN);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof(never)) == 0);
	CHECK(pthread_create(&other, NULL, accept_later, NULL) == 0);
	CHECK(connect(fd, (struct sockaddr *)&server, room) == 0);
	CHECK(pthread_join(other, NULL) == 0 && close(listener) == 0);
}

int main(void)
{
	make_file();
	a_file_to_a_socket();
	a_file_to_a_pipe();
	a_pipe_to_a_socket();
	a_socket_to_a_pipe();
	from_pipe_to_pipe();
	memory_to_a_pipe();
	memory_whatever_the_mode();
	vectors_with_flags();
	a_full_backlog();
	puts("moved bytes are right");
	return 0;
}
