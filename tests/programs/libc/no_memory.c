/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to no memory of the program's, passed to a system call, is an error, and no fault; where libc looks first, it
 * is a fault, which the program may handle. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

#define REFUSED(call) CHECK((call) == -1 && errno == EFAULT)

static void *nowhere;
static int pipes[2], sockets[2], datagrams[2];
static sigjmp_buf back;

static void make_all(void)
{
	nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(nowhere != MAP_FAILED);
	CHECK(pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) == 0);
	CHECK(write(pipes[1], "hello", 5) == 5 && write(sockets[1], "hello", 5) == 5);
	CHECK(write(datagrams[1], "hello", 5) == 5);
}

static void of_pipes(void)
{
	struct iovec part = { nowhere, 5 };
	char bytes[8];

	REFUSED(read(pipes[0], nowhere, 5));
	REFUSED(write(pipes[1], nowhere, 5));
	REFUSED(write(pipes[1], (void *)-8L, 5));
	REFUSED(readv(pipes[0], nowhere, 1));
	REFUSED(writev(pipes[1], nowhere, 1));
	REFUSED(readv(pipes[0], &part, 1));
	REFUSED(writev(pipes[1], &part, 1));
	REFUSED(preadv2(pipes[0], nowhere, 1, -1, 0));
	REFUSED(pwritev2(pipes[1], &part, 1, -1, 0));
	REFUSED(vmsplice(pipes[1], nowhere, 1, 0));
	REFUSED(pipe(nowhere));
	REFUSED(pipe2(nowhere, O_CLOEXEC));
	REFUSED(open(nowhere, O_RDONLY));
	REFUSED(access(nowhere, R_OK));
	CHECK(syscall(SYS_readv, pipes[0], &part, 1025) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_readv, pipes[0], &part, -1) == -1 && errno == EINVAL);
	/* Nothing was taken. */
	CHECK(read(pipes[0], bytes, 8) == 5);
}

static void of_sockets(void)
{
	struct msghdr message = { .msg_iov = nowhere, .msg_iovlen = 2 }, long_one = { .msg_iovlen = 1025 };
	char bytes[8];

	REFUSED(recv(sockets[0], nowhere, 5, 0));
	REFUSED(send(sockets[0], nowhere, 5, 0));
	REFUSED(sendto(sockets[0], nowhere, 5, 0, NULL, 0));
	REFUSED(recvmsg(sockets[0], nowhere, 0));
	REFUSED(sendmsg(sockets[0], nowhere, 0));
	REFUSED(recvmsg(sockets[0], &message, 0));
	REFUSED(sendmsg(sockets[0], &message, 0));
	CHECK(sendmsg(sockets[0], &long_one, 0) == -1 && errno == EMSGSIZE);
	REFUSED(recvmmsg(datagrams[0], nowhere, 1, 0, NULL));
	REFUSED(sendmmsg(datagrams[0], nowhere, 1, 0));
	REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
	REFUSED(connect(sockets[0], nowhere, 8));
	REFUSED(recvfrom(datagrams[0], bytes, 5, 0, (struct sockaddr *)bytes, nowhere));
	CHECK(recv(sockets[0], bytes, 8, 0) == 5);
}

static void of_waiting(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	REFUSED(poll(nowhere, 1, 0));
	REFUSED(poll(nowhere, 1, 5));
	REFUSED(select(1, nowhere, NULL, NULL, NULL));
	REFUSED(syscall(SYS_ppoll, NULL, 0, nowhere, NULL, 8));
	REFUSED(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], nowhere));
	CHECK(write(pipes[1], "x", 1) == 1 && epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event) == 0);
	REFUSED(epoll_wait(epoll, nowhere, 1, 0));
	REFUSED(epoll_pwait2(epoll, &event, 1, nowhere, NULL));
	REFUSED(nanosleep(nowhere, NULL));
	REFUSED(syscall(SYS_nanosleep, nowhere, nowhere));
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, nowhere, NULL) == EFAULT);
	REFUSED(semtimedop(0, nowhere, 1, NULL));
	REFUSED(semop(0, nowhere, 1));
	REFUSED(getrandom(nowhere, 8, 0));
	CHECK(close(epoll) == 0);
}

static int is_over;

static void *sleep_long(void *unused)
{
	struct timespec long_time = { 10, 0 };

	/* Where the rest of the time is to go is no memory. */
	REFUSED(nanosleep(&long_time, nowhere));
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	return unused;
}

static void handle(int signal)
{
	if (signal == SIGSEGV)
		siglongjmp(back, 1);
}

static void of_what_is_left(void)
{
	struct sigaction action = { .sa_handler = handle };
	pthread_t thread;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, sleep_long, NULL) == 0);
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		usleep(2000);
		CHECK(pthread_kill(thread, SIGUSR1) == 0);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

static void faults(void)
{
	volatile int caught = 0;

	CHECK(signal(SIGSEGV, handle) != SIG_ERR);
	if (!sigsetjmp(back, 1))
		select(0, NULL, NULL, NULL, nowhere);
	else
		caught++;
	if (!sigsetjmp(back, 1))
		ppoll(NULL, 0, nowhere, NULL);
	else
		caught++;
	CHECK(caught == 2);
}

int main(void)
{
	make_all();
	of_pipes();
	of_sockets();
	of_waiting();
	of_what_is_left();
	faults();
	puts("what is no memory is refused");
	return 0;
}
