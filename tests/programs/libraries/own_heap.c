// SPDX-License-Identifier: MIT OR Apache-2.0
// An allocator of the program's own, under one mutex; nothing is used again.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAP = 64 << 20, HEADER = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[HEAP] __attribute__((aligned(4096)));
static size_t used;
static long work;

static void *take(size_t align, size_t bytes)
{
	char *object;

	pthread_mutex_lock(&lock);
	used = (used + HEADER + align - 1) / align * align;
	object = heap + used;
	used += (bytes + 15) / 16 * 16;
	((size_t *)object)[-1] = bytes;
	pthread_mutex_unlock(&lock);
	return used < HEAP ? object : NULL;
}

void *malloc(size_t bytes)
{
	return take(HEADER, bytes);
}

void *memalign(size_t align, size_t bytes)
{
	return take(align < HEADER ? HEADER : align, bytes);
}

void free(void *object)
{
	if (!object)
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 500; i++)
		work += ((size_t *)object)[-1];
	pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
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
