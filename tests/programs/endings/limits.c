/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What docs/limits.md and docs/libc.md say is not simulated, one way for each argument. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex;

static void make(int protocol)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static int is_missing(long code)
{
	return code == -1 && errno == ENOSYS ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct sched_param param = {.sched_priority = 10};
	unsigned word = 0;

	if (!strcmp(what, "inherit"))
		make(PTHREAD_PRIO_INHERIT);
	if (!strcmp(what, "protect"))
		make(PTHREAD_PRIO_PROTECT);
	if (!strcmp(what, "policy"))
		return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (!strcmp(what, "nice"))
		return setpriority(PRIO_PROCESS, 0, 5);
	if (!strcmp(what, "lock_pi"))
		return is_missing(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	if (!strcmp(what, "waitv"))
		return is_missing(syscall(449, &word, 1, 0, NULL, 0));
	if (!strcmp(what, "io_uring"))
		return is_missing(syscall(SYS_io_uring_setup, 8, NULL));
	if (!strcmp(what, "userfaultfd"))
		return is_missing(syscall(SYS_userfaultfd, 0));
	if (!strcmp(what, "landlock"))
		return is_missing(syscall(SYS_landlock_create_ruleset, NULL, 0, 0));
	if (!strcmp(what, "seccomp"))
		return is_missing(syscall(SYS_seccomp, 0, 0, NULL));
	if (!strcmp(what, "prctl"))
		return prctl(PR_SET_SECCOMP, 1, 0, 0, 0) == -1 && errno == EINVAL ? 0 : 1;
	if (!strcmp(what, "signalfd")) {
		sigset_t none;

		sigemptyset(&none);
		return signalfd(-1, &none, 0);
	}
	if (!strcmp(what, "system"))
		return system("true");
	if (!strcmp(what, "exec"))
		return execl("/bin/true", "true", NULL);
	if (!strcmp(what, "aio")) {
		struct aiocb request = {.aio_fildes = 0};
		return aio_read(&request);
	}
	if (!strcmp(what, "vfork"))
		return vfork() < 0;
	if (!strcmp(what, "clone"))
		return syscall(SYS_clone, 0, 0, 0, 0, 0) < 0;
	if (!strcmp(what, "exit"))
		syscall(SYS_exit, 0);
	return 0;
}
