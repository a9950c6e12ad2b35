/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A handler runs while a call waits: with SA_RESTART, the call goes on if it is one that does (signal(7)), or else ends with
 * EINTR. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char file[] = "/tmp/restarts-XXXXXX";
static struct sockaddr_un stream_name = { AF_UNIX, "" }, datagram_name = { AF_UNIX, "" };
static int held, wanted, server, client, receiver, sender, counter, semaphores, messages;
static mqd_t queue;

static long lock_whole_file(void)
{
	return flock(wanted, LOCK_EX);
}

static void unlock_whole_file(void)
{
	CHECK(flock(held, LOCK_UN) == 0);
}

static long lock_range(void)
{
	struct flock range = { .l_type = F_WRLCK };

	return fcntl(wanted, F_OFD_SETLKW, &range);
}

static void unlock_range(void)
{
	struct flock range = { .l_type = F_UNLCK };

	CHECK(fcntl(held, F_OFD_SETLK, &range) == 0);
}

static long connect_to_full(void)
{
	return connect(client, (struct sockaddr *)&stream_name, sizeof(stream_name));
}

static void accept_one(void)
{
	CHECK(accept(server, NULL, NULL) >= 0);
}

static long send_to_full(void)
{
	return sendto(sender, "x", 1, 0, (struct sockaddr *)&datagram_name, sizeof(datagram_name)) == 1 ? 0 : -1;
}

static void receive_one(void)
{
	char c;

	CHECK(recv(receiver, &c, 1, 0) == 1);
}

static long count_beyond(void)
{
	return eventfd_write(counter, 5);
}

static void read_count(void)
{
	eventfd_t count;

	CHECK(eventfd_read(counter, &count) == 0);
}

static long receive_from_empty(void)
{
	struct timespec limit;
	char c;

	CHECK(clock_gettime(CLOCK_REALTIME, &limit) == 0);
	limit.tv_sec += 100;
	return mq_timedreceive(queue, &c, 1, NULL, &limit) == 1 ? 0 : -1;
}

static void send_one(void)
{
	CHECK(mq_send(queue, "x", 1, 0) == 0);
}

static long lower_semaphore(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semop(semaphores, &down, 1);
}

static long lower_semaphore_in_time(void)
{
	struct sembuf down = { 0, -1, 0 };
	struct timespec time = { 100, 0 };

	return semtimedop(semaphores, &down, 1, &time);
}

static long receive_message(void)
{
	long message[2];

	return msgrcv(messages, message, sizeof(long), 0, 0) >= 0 ? 0 : -1;
}

static volatile sig_atomic_t caught;

static void handle(int signal)
{
	(void)signal;
	caught++;
}

static pthread_t waiter;
static void (*end_wait)(void);
static int is_over;

/* Sends signals until the call is over, or a few and then ends the wait. */
static void *disturb(void *unused)
{
	for (int i = 0; !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
		usleep(3000);
		if (end_wait && i == 3) {
			end_wait();
			break;
		}
		CHECK(pthread_kill(waiter, SIGUSR1) == 0);
	}
	return unused;
}

/* What the call returns that a handler with these flags interrupts. `end`: ends its wait; null: the signals have to. */
static long disturbed(long (*call)(void), int flags, void (*end)(void))
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
	pthread_t other;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	waiter = pthread_self();
	end_wait = end;
	caught = is_over = 0;
	CHECK(pthread_create(&other, NULL, disturb, NULL) == 0);
	long code = call();
	int error = errno;
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	CHECK(pthread_join(other, NULL) == 0 && caught > 0);
	errno = error;
	return code;
}

#define GOES_ON(call, end)                                                         \
	do {                                                                       \
		CHECK(disturbed(call, 0, NULL) == -1 && errno == EINTR);           \
		CHECK(disturbed(call, SA_RESTART, end) == 0);                      \
	} while (0)
#define ENDS(call)                                                                 \
	do {                                                                       \
		CHECK(disturbed(call, 0, NULL) == -1 && errno == EINTR);           \
		CHECK(disturbed(call, SA_RESTART, NULL) == -1 && errno == EINTR);  \
	} while (0)

static void locks(void)
{
	struct flock range = { .l_type = F_WRLCK };

	CHECK((held = mkstemp(file)) >= 0 && (wanted = open(file, O_RDWR)) >= 0);
	CHECK(flock(held, LOCK_EX) == 0 && fcntl(held, F_OFD_SETLK, &range) == 0);
	GOES_ON(lock_whole_file, unlock_whole_file);
	GOES_ON(lock_range, unlock_range);
	CHECK(unlink(file) == 0 && close(held) == 0 && close(wanted) == 0);
}

static int local(int kind, struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, kind, 0);

	/* A name that is not in the file system. */
	snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "restarts-%d-%s", kind, file + 14);
	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)name, sizeof(*name)) == 0);
	return fd;
}

static void limit_sends(int fd, time_t seconds)
{
	struct timeval limit = { seconds, 0 };

	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0);
}

static void sockets(void)
{
	int first = socket(AF_UNIX, SOCK_STREAM, 0);

	server = local(SOCK_STREAM, &stream_name);
	CHECK(listen(server, 0) == 0);
	CHECK(connect(first, (struct sockaddr *)&stream_name, sizeof(stream_name)) == 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	limit_sends(client, 100);
	ENDS(connect_to_full);
	limit_sends(client, 0);
	GOES_ON(connect_to_full, accept_one);

	receiver = local(SOCK_DGRAM, &datagram_name);
	sender = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(fcntl(sender, F_SETFL, O_NONBLOCK) == 0);
	while (send_to_full() == 0)
		;
	CHECK(errno == EAGAIN && fcntl(sender, F_SETFL, 0) == 0);
	limit_sends(sender, 100);
	ENDS(send_to_full);
	limit_sends(sender, 0);
	GOES_ON(send_to_full, receive_one);
}

static void descriptors(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	char name[32];

	CHECK((counter = eventfd(0, 0)) >= 0 && eventfd_write(counter, (eventfd_t)-4) == 0);
	GOES_ON(count_beyond, read_count);
	snprintf(name, sizeof(name), "/restarts-%s", file + 14);
	CHECK((queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes)) != (mqd_t)-1);
	CHECK(mq_unlink(name) == 0);
	GOES_ON(receive_from_empty, send_one);
}

static void system_v(void)
{
	CHECK((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0);
	ENDS(lower_semaphore);
	ENDS(lower_semaphore_in_time);
	CHECK(semctl(semaphores, 0, IPC_RMID) == 0);
	CHECK((messages = msgget(IPC_PRIVATE, 0600)) >= 0);
	ENDS(receive_message);
	CHECK(msgctl(messages, IPC_RMID, NULL) == 0);
}

int main(void)
{
	locks();
	sockets();
	descriptors();
	system_v();
	puts("interrupted calls are right");
	return 0;
}
