/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What docs/limits.md and docs/libc.md say is not simulated, one way for each argument. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
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

static void changes_registers(int signal, siginfo_t *information, void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RBX] += signal + information->si_code;
}

static void change_registers(void)
{
	struct sigaction action = {.sa_sigaction = changes_registers, .sa_flags = SA_SIGINFO};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void *holds(void *unused)
{
	pthread_mutex_lock(&mutex);
	usleep(100);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void waits(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* Waits for a lock on a stack that nobody has heard of. */
static void wait_on_stack(void)
{
	char *stack = malloc(1 << 16);
	pthread_t holder;

	pthread_create(&holder, NULL, holds, NULL);
	usleep(10);
	__asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; call *%1; mov %%rbx, %%rsp"
			 :
			 : "r"(stack + (1 << 16)), "r"(waits)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	pthread_join(holder, NULL);
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
	if (!strcmp(what, "no_program")) {
		pid_t child;
		char *words[] = {"no-such-program", NULL};
		posix_spawn_file_actions_t actions;
		posix_spawn_file_actions_init(&actions);
		int error = posix_spawnp(&child, words[0], &actions, NULL, words, words + 1);
		execl("/no/such/program", "program", NULL);
		printf("spawn: %s, exec: %s\n", strerror(error), strerror(errno));
		return 0;
	}
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
	if (!strcmp(what, "vfork_call"))
		return syscall(SYS_vfork) < 0;
	if (!strcmp(what, "exec_call"))
		return syscall(SYS_execve, "/bin/true", NULL, NULL);
	if (!strcmp(what, "mask_call"))
		return syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 8);
	if (!strcmp(what, "stop"))
		raise(SIGSTOP);
	if (!strcmp(what, "context"))
		change_registers();
	if (!strcmp(what, "stack"))
		wait_on_stack();
	if (!strcmp(what, "exit"))
		syscall(SYS_exit, 0);
	return 0;
}
