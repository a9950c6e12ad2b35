/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* IDs of processes: all ways of asking agree, and calls that take one mean the process that has it. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *data);
int capset(struct __user_cap_header_struct *header, const struct __user_cap_data_struct *data);

static pid_t me, in_constructor;

__attribute__((constructor)) static void begin(void)
{
	in_constructor = getpid();
}

/* The field of /proc/<process>/status or the like; -1 if there is none. */
static long field(const char *path, const char *key)
{
	char line[256];
	long found = -1;
	FILE *file = fopen(path, "r");

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			found = atol(line + strlen(key));
	fclose(file);
	return found;
}

static void ask(void)
{
	CHECK(me > 1 && getpid() == me && gettid() == me && in_constructor == me);
	CHECK(syscall(SYS_getpid) == me && syscall(SYS_gettid) == me);
	CHECK(getppid() != me && syscall(SYS_getppid) == getppid());
	CHECK(getpgid(0) == getpgrp() && getpgid(me) == getpgrp() && syscall(SYS_getpgrp) == getpgrp());
	CHECK(getsid(0) == getsid(me));
	CHECK(getpgid(1 << 21 | 1) == -1 && errno == ESRCH);
}

static void files(void)
{
	char path[64], text[512] = "";
	FILE *file;

	CHECK(field("/proc/self/status", "Pid:") == me);
	CHECK(field("/proc/self/status", "PPid:") == getppid());
	CHECK(field("/proc/self/status", "Threads:") == 1);
	snprintf(path, sizeof(path), "/proc/%d/status", me);
	CHECK(field(path, "Tgid:") == me);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", me, me);
	CHECK(field(path, "Pid:") == me);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", me);
	CHECK(access(path, R_OK) == 0);
	snprintf(path, sizeof(path), "%d (", me);
	CHECK(field("/proc/self/stat", path) != -1);
	file = fopen("/proc/self/stat", "r");
	CHECK(file && fgets(text, sizeof(text), file));
	fclose(file);
	CHECK(atol(strstr(text, ") ") + 4) == getppid());
}

static volatile sig_atomic_t caught;
static volatile pid_t sender;

static void handle(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	caught++;
	sender = info->si_pid;
}

static void signals(void)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(kill(me, 0) == 0 && kill(getppid(), 0) == 0);
	CHECK(kill(me, SIGUSR1) == 0 && caught == 1 && sender == me);
	CHECK(tgkill(me, me, SIGUSR1) == 0 && caught == 2 && sender == me);
	CHECK(sigqueue(me, SIGUSR1, (union sigval){ .sival_int = 1 }) == 0 && caught == 3);
	CHECK(syscall(SYS_kill, me, SIGUSR1) == 0 && caught == 4);
	CHECK(syscall(SYS_getpriority, PRIO_PROCESS, me) > 0);
	CHECK(raise(SIGUSR1) == 0 && caught == 5 && sender == me);
}

static void *of_a_thread(void *unused)
{
	struct timespec slice;

	(void)unused;
	CHECK(getpid() == me && gettid() != me);
	CHECK(getpriority(PRIO_PROCESS, (id_t)gettid()) == getpriority(PRIO_PROCESS, 0));
	CHECK(sched_rr_get_interval(gettid(), &slice) == 0);
	/* As Linux does, though it is no process's. */
	CHECK(kill(gettid(), 0) == 0);
	CHECK(setpgid(gettid(), 0) == -1 && (errno == EINVAL || errno == ESRCH));
	return NULL;
}

static void of_others(void)
{
	struct rlimit mine, same;
	struct timespec slice;
	pthread_t thread;
	clockid_t clock;

	CHECK(getrlimit(RLIMIT_NOFILE, &mine) == 0 && prlimit(me, RLIMIT_NOFILE, NULL, &same) == 0);
	CHECK(same.rlim_cur == mine.rlim_cur);
	CHECK(syscall(SYS_prlimit64, me, RLIMIT_NOFILE, NULL, &same) == 0 && same.rlim_cur == mine.rlim_cur);
	CHECK(sched_rr_get_interval(me, &slice) == 0);
	CHECK(clock_getcpuclockid(me, &clock) == 0);
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, (id_t)me) == getpriority(PRIO_PROCESS, 0) && errno == 0);
	CHECK(pthread_create(&thread, NULL, of_a_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void memory(void)
{
	long from = 42, to = 0;
	struct iovec a = { &from, sizeof(from) }, b = { &to, sizeof(to) };
	ssize_t copied = process_vm_readv(me, &b, 1, &a, 1, 0);

	CHECK(copied == (ssize_t)sizeof(from) ? to == 42 : errno == ENOSYS || errno == EPERM);
}

static void owners_by_ioctl(int fd)
{
	int id = me, told = 0, group = -getpgrp();

	CHECK(ioctl(fd, FIOSETOWN, &id) == 0 && ioctl(fd, FIOGETOWN, &told) == 0 && told == me);
	CHECK(ioctl(fd, SIOCSPGRP, &group) == 0 && ioctl(fd, SIOCGPGRP, &told) == 0 && told == group);
	CHECK(syscall(SYS_ioctl, fd, FIOSETOWN, &id) == 0 && fcntl(fd, F_GETOWN) == me);
	CHECK(ioctl(fd, FIOSETOWN, NULL) == -1 && errno == EFAULT);
}

static void capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, me };
	struct __user_cap_data_struct data[2], again[2];

	CHECK(capget(&header, data) == 0 && header.pid == me);
	CHECK(syscall(SYS_capget, &header, again) == 0 && memcmp(data, again, sizeof(data)) == 0);
	CHECK(capset(&header, data) == 0);
	header.version = 1;
	CHECK(capget(&header, NULL) == 0 && header.version == _LINUX_CAPABILITY_VERSION_3 && header.pid == me);
}

static void descriptors(void)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	struct f_owner_ex owner = { F_OWNER_PID, me }, told;
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == me);
	CHECK(fcntl(ends[0], F_SETOWN, me) == 0 && fcntl(ends[0], F_GETOWN) == me);
	CHECK(fcntl(ends[0], F_SETOWN_EX, &owner) == 0 && fcntl(ends[0], F_GETOWN_EX, &told) == 0);
	CHECK(told.type == F_OWNER_PID && told.pid == me);
	CHECK(fcntl(ends[0], F_SETOWN_EX, NULL) == -1 && errno == EFAULT);
	owners_by_ioctl(ends[1]);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	me = getpid();
	ask();
	files();
	signals();
	of_others();
	memory();
	descriptors();
	capabilities();
	return 0;
}
