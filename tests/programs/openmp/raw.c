// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waits by `syscall` instructions: of the program's own ("own"), or of a library that it loads by the path it is
 * given. Each thread's registers, the vector registers among them, and errno are as they were. Prints what the
 * threads have counted in turn.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS 200

#ifdef LIBRARY
#define own raw
#else
static
#endif
long own(long number, long a, long b, long c)
{
	register long d __asm__("r10") = 0;
	double before = c + 0.5, after = before;

	__asm__ volatile("syscall" : "+a"(number), "+x"(after) : "D"(a), "S"(b), "d"(c), "r"(d) : "rcx", "r11", "memory");
	return after == before ? number : -1000;
}

#ifndef LIBRARY
static long (*call)(long, long, long, long) = own;
static atomic_int turn;

static void *takes_turns(void *number)
{
	int me = (int)(long)number;

	errno = 77;
	for (int i = 0; i < TURNS; i++) {
		int now;

		while ((now = atomic_load(&turn)) % 2 != me) {
			long code = call(SYS_futex, (long)&turn, FUTEX_WAIT_PRIVATE, now);

			if (code != 0 && code != -EAGAIN)
				return "a wait failed";
		}
		atomic_fetch_add(&turn, 1);
		if (call(SYS_futex, (long)&turn, FUTEX_WAKE_PRIVATE, 1) < 0)
			return "a wake failed";
	}
	if (call(SYS_sched_yield, 0, 0, 0) != 0 || call(SYS_close, -1, 0, 0) != -EBADF)
		return "other calls do not return what they do";
	return errno == 77 ? NULL : "errno has changed";
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	void *wrong;

	if (argc > 1 && strcmp(argv[1], "own") != 0) {
		void *library = dlopen(argv[1], RTLD_NOW);

		if (!library || !(call = (long (*)(long, long, long, long))dlsym(library, "raw")))
			return puts(dlerror()), 2;
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, takes_turns, (void *)i);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		if (wrong)
			return puts(wrong), 1;
	}
	printf("%d turns\n", atomic_load(&turn));
	return 0;
}
#endif
