/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Calls that the runtime stands in for, from several threads at once, where nothing is simulated. Ends with 1 if the runtime has
// memory of its own then: it has no lock for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static pthread_key_t key;
static sem_t semaphore;

static void made(void) { pthread_key_create(&key, free); }
static void handler(int signal) { (void)signal; }

static void *work(void *argument)
{
	cpu_set_t cpus;
	struct timespec time;
	char text[64];
	FILE *file;

	pthread_barrier_wait(&barrier);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	snprintf(text, sizeof(text), "%ld %d %d", sysconf(_SC_NPROCESSORS_ONLN), get_nprocs(), sched_getcpu());
	pthread_once(&once, made);
	pthread_setspecific(key, strdup(text));
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	sem_post(&semaphore);
	sem_wait(&semaphore);
	clock_gettime(CLOCK_MONOTONIC, &time);
	usleep(1);
	file = fopen("/dev/null", "w");
	fprintf(file, "%s %ld %ld\n", text, (long)time.tv_sec, random());
	fclose(file);
	dlclose(dlopen("libm.so.6", RTLD_NOW));
	signal(SIGUSR1, handler);
	pthread_kill(pthread_self(), SIGUSR1);
	free(realloc(malloc(100), 100000));
	return argument;
}

int main(void)
{
	pthread_t threads[8];
	char line[512];
	FILE *maps;
	int found = 0;

	pthread_barrier_init(&barrier, NULL, 8);
	sem_init(&semaphore, 0, 0);
	for (long t = 0; t < 8; t++)
		pthread_create(&threads[t], NULL, work, NULL);
	for (int t = 0; t < 8; t++)
		pthread_join(threads[t], NULL);
	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps))
		if (strtoul(line, NULL, 16) >> 40 == 0x30)
			found = 1, fputs(line, stdout);
	return found;
}
