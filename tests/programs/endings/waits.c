/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits that nothing in the program ends, one way for each argument. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

static const char *what;
static int set, queue;

static void *waits(void *unused)
{
	struct sembuf down = {.sem_num = 0, .sem_op = -1, .sem_flg = SEM_UNDO};
	struct {
		long type;
		char text[8];
	} message;

	if (!strcmp(what, "semop"))
		semop(set, &down, 1);
	else
		msgrcv(queue, &message, sizeof(message.text), 0, 0);
	return unused;
}

static void wait_for_what_is_ours(void)
{
	pthread_t thread;

	if (!strcmp(what, "semop"))
		set = semget(IPC_PRIVATE, 1, 0600);
	else
		queue = msgget(IPC_PRIVATE, 0600);
	pthread_create(&thread, NULL, waits, NULL);
	waits(NULL);
}

static void wait_for_a_file(void)
{
	char name[] = "/tmp/corefold-waits-XXXXXX";
	int first = mkstemp(name), second = open(name, O_RDWR);

	unlink(name);
	flock(first, LOCK_EX);
	flock(second, LOCK_EX);
}

int main(int argc, char **argv)
{
	what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "flock"))
		wait_for_a_file();
	else if (!strcmp(what, "raise"))
		raise(SIGSEGV);
	else
		wait_for_what_is_ours();
	return 0;
}
