/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Hoard's cache-scratch: main allocates a small object for each thread, one after the other, and hands them out; the
 * threads write their objects over and over (passive false sharing, which an allocator goes on with that gives a
 * freed object back to the thread that freed it). Twin: each thread allocates its object on a line of its own.
 * cache_scratch THREADS REPETITIONS
 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <vector>

struct scratch {
	unsigned char bytes[8];
};

struct worker_arg {
	pthread_t thread;
	scratch *object;
	long repetitions;
	unsigned long sum;
};

/* Writes each byte of the object and reads it again. */
static __attribute__((noinline)) unsigned long touch(scratch *object, unsigned char value)
{
	unsigned long sum = 0;

	for (unsigned char &byte : object->bytes) {
		byte = static_cast<unsigned char>(byte + value);
		sum += byte;
	}
	return sum;
}

static unsigned char compute(unsigned long seed)
{
	for (int i = 0; i < 10; i++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		seed ^= seed >> 29;
	}
	return static_cast<unsigned char>(seed >> 56 | 1);
}

static void *worker(void *arg)
{
	worker_arg *w = static_cast<worker_arg *>(arg);
	unsigned long sum = 0;
	unsigned char expected = 0;

#ifdef TWIN
	w->object = static_cast<scratch *>(aligned_alloc(64, 64));
	*w->object = scratch();
#endif
	for (long i = 0; i < w->repetitions; i++) {
		unsigned char value = compute(static_cast<unsigned long>(i));

		expected = static_cast<unsigned char>(expected + value);
		sum += touch(w->object, value) == 8ul * expected;
	}
	w->sum = sum;
	return nullptr;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long repetitions = argc > 2 ? atol(argv[2]) : 100000;
	std::vector<worker_arg> args(threads);
	unsigned long right = 0;

	for (int i = 0; i < threads; i++) {
#ifndef TWIN
		args[i].object = static_cast<scratch *>(calloc(1, sizeof(scratch)));
#endif
		args[i].repetitions = repetitions * (i + 1) / threads - repetitions * i / threads;
	}
	for (worker_arg &w : args)
		pthread_create(&w.thread, nullptr, worker, &w);
	for (worker_arg &w : args) {
		pthread_join(w.thread, nullptr);
		right += w.sum;
		free(w.object);
	}
	printf("%lu repetitions\n", right);
	return right != static_cast<unsigned long>(repetitions);
}
