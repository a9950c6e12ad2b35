/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several operations of semop at once: the first that cannot be made decides whether the call waits. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

static int set;

static void *raise_later(void *number)
{
	struct sembuf up = { (unsigned short)(long)number, 1, 0 };

	usleep(3000);
	CHECK(semop(set, &up, 1) == 0);
	return NULL;
}

static void values(int first, int second)
{
	CHECK(semctl(set, 0, SETVAL, first) == 0 && semctl(set, 1, SETVAL, second) == 0);
}

static int are(int first, int second)
{
	return semctl(set, 0, GETVAL) == first && semctl(set, 1, GETVAL) == second;
}

/* Makes two operations while another thread raises a semaphore. Returns 0, or the error. */
static int both(struct sembuf one, struct sembuf other, int raised)
{
	struct sembuf operations[] = { one, other };
	struct timespec second = { 1, 0 };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, raise_later, (void *)(long)raised) == 0);
	int code = raised ? semop(set, operations, 2) : semtimedop(set, operations, 2, &second);
	int error = code ? errno : 0;
	CHECK(pthread_join(thread, NULL) == 0);
	return error;
}

int main(void)
{
	struct sembuf wait_first = { 0, -1, 0 }, wait_second = { 1, -1, 0 };
	struct sembuf try_first = { 0, -1, IPC_NOWAIT }, try_second = { 1, -1, IPC_NOWAIT };
	struct sembuf twice[] = { { 0, -2, 0 }, { 0, 0, IPC_NOWAIT } };

	CHECK((set = semget(IPC_PRIVATE, 2, 0600)) >= 0);
	values(0, 1);
	CHECK(both(wait_first, try_second, 0) == 0 && are(0, 0));
	values(1, 0);
	CHECK(both(try_first, wait_second, 1) == 0 && are(0, 0));
	/* The one that waits comes first, and then the other cannot be made. */
	CHECK(both(wait_first, try_second, 0) == EAGAIN && are(1, 0));
	values(0, 0);
	CHECK(both(try_first, wait_second, 1) == EAGAIN && are(0, 1));
	values(2, 0);
	CHECK(semop(set, twice, 2) == 0 && are(0, 0));
	values(3, 0);
	CHECK(semop(set, twice, 2) == -1 && errno == EAGAIN && are(3, 0));
	CHECK(semctl(set, 0, IPC_RMID) == 0);
	puts("sets of semaphores are right");
	return 0;
}
