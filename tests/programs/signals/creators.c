/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads make threads at the same time, in a program whose allocator has them wait for each other: what each of them
 * blocks stays as it was, to the kernel, too. */
#define _GNU_SOURCE
#include "../libc/check.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATORS = 8, EACH = 6, ROOM = 64 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char heap[ROOM];
static size_t used;

/* A system call by an instruction of the program's own. */
static long direct_call(void)
{
	long result = SYS_getpid;

	__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	return result;
}

/* Nothing is given back; the longer a thread has the lock, the more of the others wait for it. */
void *malloc(size_t bytes)
{
	pthread_mutex_lock(&lock);
	char *here = heap + used;
	used += (bytes + 31) / 16 * 16;
	if (used > ROOM)
		abort();
	for (volatile int i = 0; i < 2000; i++)
		;
	CHECK(direct_call() == getpid());
	pthread_mutex_unlock(&lock);
	*(size_t *)here = bytes;
	return here + 16;
}

void free(void *at)
{
	(void)at;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *at, size_t bytes)
{
	void *new = malloc(bytes);

	if (at)
		memcpy(new, at, bytes < ((size_t *)at)[-2] ? bytes : ((size_t *)at)[-2]);
	return new;
}

/* What the kernel says that the thread blocks. */
static unsigned long blocked(void)
{
	unsigned long set = ~0ul;

	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, sizeof(set)) == 0);
	return set;
}

static void *nothing(void *unused)
{
	return unused;
}

static void *create(void *me)
{
	sigset_t set, now;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + (int)(long)me);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	for (int i = 0; i < EACH; i++) {
		CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
		CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
		for (int other = 0; other < CREATORS; other++)
			CHECK(sigismember(&now, SIGRTMIN + other) == (other == (long)me));
		CHECK(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTERM));
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t creators[CREATORS];

	CHECK(blocked() == 0);
	for (long i = 0; i < CREATORS; i++)
		CHECK(pthread_create(&creators[i], NULL, create, (void *)i) == 0);
	for (int i = 0; i < CREATORS; i++)
		CHECK(pthread_join(creators[i], NULL) == 0);
	CHECK(blocked() == 0);
	puts("creators keep their masks");
	return 0;
}
