/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ends by signals, or waits for ones that do not come: alarm | other | joins | process | pause | stop | descriptor | libc */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static volatile size_t length;
static const char *volatile nowhere = (const char *)16;

static void *wait_here(void *unused)
{
	pause();
	return unused;
}

static __attribute__((noinline)) void measure(void) { length = strlen(nowhere); }

static void *end_main(void *main)
{
	if (main)
		pthread_kill(*(pthread_t *)main, SIGUSR2);
	else
		kill(getpid(), SIGTERM);
	write(1, "goes on\n", 8);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	sigset_t set;

	if (!strcmp(how, "alarm"))
		alarm(1), pause();
	if (!strcmp(how, "other")) {
		pthread_create(&thread, NULL, wait_here, NULL);
		usleep(1000);
		pthread_kill(thread, SIGUSR2);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "joins") || !strcmp(how, "process")) {
		pthread_t self = pthread_self();

		pthread_create(&thread, NULL, end_main, !strcmp(how, "joins") ? &self : NULL);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "pause")) {
		pthread_create(&thread, NULL, wait_here, NULL);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "stop"))
		raise(SIGSTOP);
	if (!strcmp(how, "descriptor")) {
		sigemptyset(&set);
		signalfd(-1, &set, 0);
	}
	if (!strcmp(how, "libc"))
		measure();
	return 0;
}
