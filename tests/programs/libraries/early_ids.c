/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library whose constructor, which runs before a simulation begins, makes calls about the process's ID. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int capget(struct __user_cap_header_struct *header, struct __user_cap_data_struct *data);

static pid_t seen;

static void check(pid_t me)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, me };
	struct __user_cap_data_struct data[2];
	struct f_owner_ex owner = { F_OWNER_PID, me }, told;
	struct timespec slice;
	struct sched_param priority;
	struct rlimit files;
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	clockid_t clock;
	cpu_set_t cpus;
	int ends[2], id = me;

	CHECK(getpid() == me && syscall(SYS_getpid) == me && syscall(SYS_gettid) == gettid());
	CHECK(syscall(SYS_getppid) == getppid() && getpgid(me) == getpgrp() && getsid(me) == getsid(0));
	CHECK(kill(me, 0) == 0 && tgkill(me, me, 0) == 0 && kill(getppid(), 0) == 0);
	CHECK(syscall(SYS_kill, me, 0) == 0 && syscall(SYS_tgkill, me, me, 0) == 0);
	CHECK(prlimit(me, RLIMIT_NOFILE, NULL, &files) == 0 && clock_getcpuclockid(me, &clock) == 0);
	CHECK(sched_getscheduler(me) == SCHED_OTHER && sched_getparam(me, &priority) == 0);
	CHECK(sched_rr_get_interval(me, &slice) == 0);
	CHECK(sched_getaffinity(me, sizeof(cpus), &cpus) == 0 && sched_setaffinity(me, sizeof(cpus), &cpus) == 0);
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, (id_t)me) == getpriority(PRIO_PROCESS, 0) && errno == 0);
	CHECK(capget(&header, data) == 0 && header.pid == me && syscall(SYS_capget, &header, data) == 0);

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == me);
	CHECK(fcntl(ends[0], F_SETOWN, me) == 0 && fcntl(ends[0], F_GETOWN) == me);
	CHECK(fcntl(ends[0], F_SETOWN_EX, &owner) == 0 && fcntl(ends[0], F_GETOWN_EX, &told) == 0);
	CHECK(told.type == F_OWNER_PID && told.pid == me);
	CHECK(ioctl(ends[1], FIOSETOWN, &id) == 0 && ioctl(ends[1], FIOGETOWN, &id) == 0 && id == me);
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

__attribute__((constructor)) static void begin(void)
{
	seen = getpid();
	check(seen);
}

void check_again(void)
{
	check(seen);
}
