/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Valkey's zmalloc: each thread counts the memory it uses in its own element of used_memory_thread, an array of
 * 8-byte atomics: eight threads to a cache line. Twin: elements padded to a line each.
 * used_memory THREADS COMMANDS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS_NUM 80

#ifdef TWIN
static struct {
	_Alignas(64) _Atomic size_t bytes;
} used_memory_thread[MAX_THREADS_NUM];
#define USED(thread) used_memory_thread[thread].bytes
#else
static _Alignas(64) _Atomic size_t used_memory_thread[MAX_THREADS_NUM];
#define USED(thread) used_memory_thread[thread]
#endif

static _Thread_local int thread_index;
static long commands;
static int io_threads;

static __attribute__((noinline)) void update_zmalloc_stat_alloc(size_t size)
{
	atomic_fetch_add_explicit(&USED(thread_index), size, memory_order_relaxed);
}

static __attribute__((noinline)) void update_zmalloc_stat_free(size_t size)
{
	atomic_fetch_sub_explicit(&USED(thread_index), size, memory_order_relaxed);
}

/* Reads a command's argument into a reply; returns its length. */
static size_t run_command(unsigned char *reply, unsigned long command)
{
	for (int i = 0; i < 32; i++) {
		command = command * 6364136223846793005UL + 1442695040888963407UL;
		reply[i] = (unsigned char)(command >> 56);
	}
	return 64 + (reply[31] & 63u);
}

static void *io_thread_main(void *index)
{
	unsigned char reply[32];
	long mine = commands * ((long)index + 1) / io_threads - commands * (long)index / io_threads;

	thread_index = (int)(long)index;
	for (long i = 0; i < mine; i++) {
		size_t size = run_command(reply, (unsigned long)i);

		update_zmalloc_stat_alloc(size + 1);
		update_zmalloc_stat_free(size);
	}
	return NULL;
}

static size_t zmalloc_used_memory(void)
{
	size_t um = 0;

	for (int i = 0; i < io_threads; i++)
		um += atomic_load_explicit(&USED(i), memory_order_relaxed);
	return um;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS_NUM];

	io_threads = argc > 1 ? atoi(argv[1]) : 2;
	commands = argc > 2 ? atol(argv[2]) : 100000;
	if (io_threads < 1 || io_threads > MAX_THREADS_NUM)
		return 2;
	for (long i = 0; i < io_threads; i++)
		pthread_create(&thread[i], NULL, io_thread_main, (void *)i);
	for (int i = 0; i < io_threads; i++)
		pthread_join(thread[i], NULL);
	printf("%zu bytes used\n", zmalloc_used_memory());
	return zmalloc_used_memory() != (size_t)commands;
}
