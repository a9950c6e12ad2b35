/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A common setting with a known cost: glibc's malloc limited to one arena to save memory (M_ARENA_MAX, as the
// environment's MALLOC_ARENA_MAX=1). Buffers larger than the thread caches hold take the arena's lock twice a request.
// The twin allows enough arenas for each thread to get its own.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEPT 4

struct session {
	_Alignas(128) pthread_t id;
	long requests, served;
	uint64_t digest;
};

static pthread_barrier_t start;

__attribute__((noinline)) static uint64_t fill(uint64_t *words, uint64_t seed)
{
	for (int i = 0; i < 16; i++) {
		seed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15u;
		words[i] = seed;
	}
	return seed;
}

static void *serve(void *argument)
{
	struct session *self = argument;
	void *kept[KEPT] = { malloc(1536) };

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->requests; i++) {
		size_t size = 1536 + (size_t)(i * 7 % 16) * 64;
		uint64_t *words = malloc(size);

		if (!words)
			break;
		self->digest ^= fill(words, self->digest + (uint64_t)i);
		self->served++;
		free(kept[i % KEPT]);
		kept[i % KEPT] = words;
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000, served = 0;
	struct session *sessions = aligned_alloc(128, (size_t)threads * sizeof *sessions);
	uint64_t digest = 0;

#ifdef TWIN
	mallopt(M_ARENA_MAX, 128);
#else
	mallopt(M_ARENA_MAX, 1);
#endif
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		sessions[t] = (struct session) { .requests = work * (t + 1) / threads - work * t / threads };
		pthread_create(&sessions[t].id, NULL, serve, &sessions[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(sessions[t].id, NULL);
		served += sessions[t].served;
		digest ^= sessions[t].digest;
	}
	printf("%ld requests, digest %016llx\n", served, (unsigned long long)digest);
	return served != work;
}
