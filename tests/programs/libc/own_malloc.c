// SPDX-License-Identifier: MIT OR Apache-2.0
// A program with an allocator of its own, under one mutex: libc's own requests come to it, too, and some of them while
// libc holds a lock of its own. Another thread that needs that lock then waits for it, as it would natively.
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, ROUNDS = 5, CLASSES = 24, HEADER = 16, ARENA = 64 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char arena[ARENA] __attribute__((aligned(4096)));
static size_t used;
static void *lists[CLASSES];
static long live;
static long calls[64];

static int class_of(size_t bytes)
{
	int class = 5;

	while (((size_t)1 << class) < bytes + HEADER)
		class++;
	return class;
}

void *aligned_alloc(size_t align, size_t bytes)
{
	int class = class_of(bytes);
	void **object = NULL;

	if (class >= CLASSES)
		return NULL;
	pthread_mutex_lock(&lock);
	if (align <= HEADER && lists[class]) {
		object = lists[class];
		lists[class] = *object;
	} else {
		uintptr_t at = ((uintptr_t)arena + used + HEADER + align - 1) / align * align;

		if (at + ((size_t)1 << class) <= (uintptr_t)arena + ARENA) {
			used = at + ((size_t)1 << class) - (uintptr_t)arena;
			object = (void **)at;
		}
	}
	if (object) {
		((size_t *)object)[-1] = bytes;
		((size_t *)object)[-2] = class;
		live++;
	}
	calls[(uintptr_t)object / 64 % 64]++;
	pthread_mutex_unlock(&lock);
	return object;
}

void *malloc(size_t bytes)
{
	return aligned_alloc(HEADER, bytes);
}

void free(void *object)
{
	size_t class;

	if (!object)
		return;
	class = ((size_t *)object)[-2];
	pthread_mutex_lock(&lock);
	*(void **)object = lists[class];
	lists[class] = object;
	live--;
	calls[(uintptr_t)object / 64 % 64]++;
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size)
{
	void *object = malloc(count * size);

	if (object)
		memset(object, 0, count * size);
	return object;
}

void *realloc(void *old, size_t bytes)
{
	void *object = malloc(bytes);

	if (object && old) {
		size_t had = ((size_t *)old)[-1];

		memcpy(object, old, had < bytes ? had : bytes);
		free(old);
	}
	return object;
}

void *memalign(size_t align, size_t bytes)
{
	return aligned_alloc(align, bytes);
}

int posix_memalign(void **into, size_t align, size_t bytes)
{
	*into = aligned_alloc(align, bytes);
	return *into ? 0 : ENOMEM;
}

static __thread char own[3000];
static long sum;

static void at_end(void)
{
}

static pthread_barrier_t begin;

static void *work(void *argument)
{
	long me = (long)argument, total = 0;
	void *objects[32];
	char text[64];

	pthread_barrier_wait(&begin);
	for (int i = 0; i < 32; i++) {
		objects[i] = malloc(24 + me * 8 + i);
		memset(objects[i], (int)me, 24);
	}
	/* Each of these has libc ask for memory, some under a lock of its own. */
	strerror(100000 + (int)me);
	atexit(at_end);
	setlocale(LC_ALL, me & 1 ? "C" : "POSIX");
	snprintf(text, sizeof(text), "THREAD_%ld", me);
	setenv(text, text, 1);
	FILE *stream = fopen("/dev/null", "w");
	fprintf(stream, "%s\n", text);
	fclose(stream);
	for (int i = 0; i < 32; i++) {
		total += *(char *)objects[i];
		free(objects[i]);
	}
	own[me] = 1;
	__atomic_add_fetch(&sum, total + own[me], __ATOMIC_RELAXED);
	return NULL;
}

static void *detached(void *argument)
{
	pthread_detach(pthread_self());
	return work(argument);
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int round = 0; round < ROUNDS; round++) {
		long before = sum, expected = 0, want;

		pthread_barrier_init(&begin, NULL, THREADS);
		for (long i = 0; i < THREADS; i++) {
			pthread_create(&threads[i], NULL, i % 4 == 3 ? detached : work, (void *)i);
			expected += 32 * i + 1;
		}
		for (int i = 0; i < THREADS; i++)
			if (i % 4 != 3)
				pthread_join(threads[i], NULL);
		want = before + expected;
		while (__atomic_load_n(&sum, __ATOMIC_ACQUIRE) != want)
			;
	}
	printf("%ld, %s\n", sum, live > 0 ? "some are live" : "none is live");
	return 0;
}
