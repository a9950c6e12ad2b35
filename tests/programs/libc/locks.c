/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that keep each other waiting by the kernel's own means: file locks, messages, semaphores. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

enum { THREADS = 5, ROUNDS = 20 };

static char name[] = "/tmp/locks-XXXXXX";
static int messages, semaphores;
static volatile long count;

static void add_slowly(void)
{
	long seen = count;

	usleep(50);
	count = seen + 1;
}

static void *by_flock(void *unused)
{
	int fd = open(name, O_RDWR);

	CHECK(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(flock(fd, LOCK_EX) == 0);
		add_slowly();
		CHECK(flock(fd, LOCK_UN) == 0);
	}
	CHECK(close(fd) == 0);
	return unused;
}

static void *by_record(void *unused)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd = open(name, O_RDWR);

	CHECK(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		lock.l_type = F_WRLCK;
		CHECK(fcntl(fd, F_OFD_SETLKW, &lock) == 0);
		add_slowly();
		lock.l_type = F_UNLCK;
		CHECK(fcntl(fd, F_OFD_SETLK, &lock) == 0);
	}
	CHECK(close(fd) == 0);
	return unused;
}

static void *by_semaphore(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct sembuf take = { 0, -1, 0 }, give = { 0, 1, 0 };

		CHECK(semop(semaphores, &take, 1) == 0);
		add_slowly();
		CHECK(semop(semaphores, &give, 1) == 0);
	}
	return unused;
}

static void *send_numbers(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct {
			long type;
			int number;
		} message = { 1, i };

		CHECK(msgsnd(messages, &message, sizeof(int), 0) == 0);
	}
	return unused;
}

static void all(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	count = 0;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(count == THREADS * ROUNDS);
}

static void receive_numbers(void)
{
	struct {
		long type;
		int number;
	} message;
	pthread_t sender;

	messages = msgget(IPC_PRIVATE, 0600);
	if (messages < 0)
		return; /* Not every kernel has them. */
	CHECK(pthread_create(&sender, NULL, send_numbers, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++)
		CHECK(msgrcv(messages, &message, sizeof(int), 0, 0) == sizeof(int) && message.number == i);
	CHECK(msgrcv(messages, &message, sizeof(int), 0, IPC_NOWAIT) == -1 && errno == ENOMSG);
	CHECK(pthread_join(sender, NULL) == 0 && msgctl(messages, IPC_RMID, NULL) == 0);
}

int main(void)
{
	int fd = mkstemp(name);

	CHECK(fd >= 0 && close(fd) == 0);
	all(by_flock);
	all(by_record);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (semaphores >= 0) {
		CHECK(semctl(semaphores, 0, SETVAL, 1) == 0);
		all(by_semaphore);
		CHECK(semctl(semaphores, 0, IPC_RMID) == 0);
	}
	receive_numbers();
	CHECK(unlink(name) == 0);
	puts("locks are right");
	return 0;
}
