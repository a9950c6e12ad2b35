/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A common fault: all threads write their log lines to one FILE, whose lock every stdio call takes (flockfile(3)).
// The twin opens a stream of its own in each thread.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct handler {
	_Alignas(128) pthread_t id;
	long requests, written;
	uint64_t digest;
};

static FILE *access_log;
static pthread_barrier_t start;

__attribute__((noinline)) static void format_hex(char *text, uint64_t value)
{
	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
}

__attribute__((noinline)) static uint64_t handle(uint64_t request)
{
	for (int i = 0; i < 20; i++)
		request = (request ^ request >> 31) * 0x9e3779b97f4a7c15u;
	return request;
}

static void *serve(void *argument)
{
	struct handler *self = argument;
	char line[] = "GET /................ 200\n";
#ifdef TWIN
	FILE *log = fopen("/dev/null", "w");
#else
	FILE *log = access_log;
#endif

	pthread_barrier_wait(&start);
	for (long i = 0; i < self->requests; i++) {
		uint64_t answer = handle(self->digest + (uint64_t)i);

		format_hex(line + 5, answer);
		self->written += fputs(line, log) >= 0;
		self->digest ^= answer;
	}
#ifdef TWIN
	fclose(log);
#endif
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	long work = argc > 2 ? atol(argv[2]) : 100000, written = 0;
	struct handler *handlers = aligned_alloc(128, (size_t)threads * sizeof *handlers);
	uint64_t digest = 0;

	access_log = fopen("/dev/null", "w");
	if (!access_log)
		return 1;
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int t = 0; t < threads; t++) {
		handlers[t] = (struct handler) { .requests = work * (t + 1) / threads - work * t / threads };
		pthread_create(&handlers[t].id, NULL, serve, &handlers[t]);
	}
	for (int t = 0; t < threads; t++) {
		pthread_join(handlers[t].id, NULL);
		written += handlers[t].written;
		digest ^= handlers[t].digest;
	}
	fclose(access_log);
	printf("%ld lines, digest %016llx\n", written, (unsigned long long)digest);
	return written != work;
}
