/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "says.h"
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>

enum { OWN_STACK = 1 << 20 };

/* Is a local variable on the stack that the thread's attributes name? */
static void *is_inside(void *into)
{
	pthread_attr_t attr;
	void *stack;
	size_t bytes;
	char here;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &stack, &bytes);
	pthread_attr_destroy(&attr);
	*(size_t *)into = bytes;
	return (void *)(intptr_t)(&here >= (char *)stack && &here < (char *)stack + bytes);
}

static void *go_deep(void *bytes)
{
	volatile char room[(size_t)bytes];

	room[0] = 1;
	room[(size_t)bytes - 1] = 2;
	return (void *)(intptr_t)(room[0] + room[(size_t)bytes - 1]);
}

static void *own_state(void *unused)
{
	pthread_attr_t attr;
	int state = -1;

	(void)unused;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getdetachstate(&attr, &state);
	pthread_attr_destroy(&attr);
	return (void *)(intptr_t)state;
}

static int with(pthread_attr_t *attr, void *(*body)(void *), void *argument)
{
	pthread_t thread;
	void *value = NULL;

	if (pthread_create(&thread, attr, body, argument) != 0 || pthread_join(thread, &value) != 0)
		return -1;
	return (int)(intptr_t)value;
}

static void stacks(pthread_attr_t *attr)
{
	size_t bytes = 0, found = 0;
	void *stack = NULL;

	SAYS("pthread_attr_setstacksize 1,3 pthread_attr_getstacksize 1,2,3", "is kept", !pthread_attr_setstacksize(attr, 1 << 20) && !pthread_attr_getstacksize(attr, &bytes) && bytes == 1 << 20);
	SAYS("pthread_attr_setstacksize 4,5", "refuses what is too small", pthread_attr_setstacksize(attr, 100) == EINVAL);
	SAYS("pthread_attr_setstacksize 2", "is what the thread gets, at least", with(attr, is_inside, &found) == 1 && found >= (1 << 20) - 8192);
	pthread_attr_setstacksize(attr, 128 << 20);
	SAYS("pthread_attr_setstacksize", "may be large", with(attr, go_deep, (void *)(100 << 20)) == 3);
	SAYS("pthread_attr_setguardsize", "is kept", !pthread_attr_setguardsize(attr, 8192) && !pthread_attr_getguardsize(attr, &bytes) && bytes == 8192);
	void *own = mmap(NULL, OWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	SAYS("pthread_attr_setstack 1,5,9 pthread_attr_getstack 1,2,3", "is kept", !pthread_attr_setstack(attr, own, OWN_STACK) && !pthread_attr_getstack(attr, &stack, &bytes) && stack == own && bytes == OWN_STACK);
	SAYS("pthread_attr_setstack 2,3", "is what the thread runs on", with(attr, is_inside, &found) == 1 && found == OWN_STACK);
	SAYS("pthread_attr_setstack 6", "refuses what is too small", pthread_attr_setstack(attr, own, 100) == EINVAL);
	SAYS("pthread_getattr_np", "knows the main thread's stack", is_inside(&found) != NULL);
}

int main(void)
{
	pthread_attr_t attr;
	int value = -1;
	struct sched_param param = {0};
	cpu_set_t cpus, got;

	SAYS("pthread_attr_init 4", "succeeds", pthread_attr_init(&attr) == 0);
	SAYS("pthread_attr_getdetachstate 1,2 pthread_attr_init 1", "is joinable at first", !pthread_attr_getdetachstate(&attr, &value) && value == PTHREAD_CREATE_JOINABLE);
	SAYS("pthread_create 1 pthread_attr_init 2", "makes such a thread", with(&attr, own_state, NULL) == PTHREAD_CREATE_JOINABLE);
	SAYS("pthread_attr_setdetachstate 1,3", "is kept", !pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) && !pthread_attr_getdetachstate(&attr, &value) && value == PTHREAD_CREATE_DETACHED);
	SAYS("pthread_attr_setdetachstate 4", "refuses what is neither", pthread_attr_setdetachstate(&attr, 9) == EINVAL);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
	SAYS("pthread_attr_setinheritsched 1,3 pthread_attr_getinheritsched 1,2", "is kept", !pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) && !pthread_attr_getinheritsched(&attr, &value) && value == PTHREAD_EXPLICIT_SCHED);
	SAYS("pthread_attr_setinheritsched 4,6", "refuses what is neither", pthread_attr_setinheritsched(&attr, 9) == EINVAL);
	SAYS("pthread_attr_setschedpolicy 1,3 pthread_attr_getschedpolicy 1,3", "is kept", !pthread_attr_setschedpolicy(&attr, SCHED_RR) && !pthread_attr_getschedpolicy(&attr, &value) && value == SCHED_RR);
	SAYS("pthread_attr_setschedpolicy 4,6", "refuses what is none", pthread_attr_setschedpolicy(&attr, 999) == EINVAL);
	param.sched_priority = 3;
	SAYS("pthread_attr_setschedparam 1,2 pthread_attr_getschedparam 1,2", "is kept", !pthread_attr_setschedparam(&attr, &param) && !pthread_attr_getschedparam(&attr, &param) && param.sched_priority == 3);
	SAYS("pthread_attr_setscope 1,3 pthread_attr_getscope 1,2", "is kept", !pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM) && !pthread_attr_getscope(&attr, &value) && value == PTHREAD_SCOPE_SYSTEM);
	SAYS("pthread_attr_setscope 2,5", "refuses the process's scope, which Linux lacks", pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS) == ENOTSUP);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	SAYS("pthread_attr_setaffinity_np", "is kept", !pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus) && !pthread_attr_getaffinity_np(&attr, sizeof got, &got) && CPU_EQUAL(&cpus, &got));
	SAYS("pthread_attr_destroy 1,3", "succeeds", pthread_attr_destroy(&attr) == 0);
	pthread_attr_init(&attr);
	stacks(&attr);
	pthread_attr_destroy(&attr);
	return 0;
}
