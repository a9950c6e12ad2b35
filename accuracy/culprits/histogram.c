/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Phoenix's histogram: each thread counts colours in its own thread_arg_t, 3,096 bytes, one after the other in
 * an array: the last counts of blue lie on one cache line with the next thread's header and first counts of red.
 * With a blue sky (red 0, blue 255) these are the hottest. Twin: aligned to a line. histogram THREADS ROWS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef TWIN
#define OWN_LINE _Alignas(64)
#else
#define OWN_LINE
#endif

enum { ROWS = 64, PIXELS = 16 };

typedef struct {
	OWN_LINE unsigned char *data;
	long data_pos;
	long data_len;
	int red[256];
	int green[256];
	int blue[256];
} thread_arg_t;

static unsigned char image[ROWS * PIXELS * 3];

/* Every eighth pixel is sky. */
static void paint(void)
{
	for (int i = 0; i < ROWS * PIXELS; i++) {
		int sky = i % 8 == 0;

		image[3 * i] = sky ? 255 : (unsigned char)(40 + i * 7 % 100);
		image[3 * i + 1] = (unsigned char)(60 + i * 5 % 120);
		image[3 * i + 2] = sky ? 0 : (unsigned char)(40 + i * 3 % 100);
	}
}

static __attribute__((noinline)) void calc_row(thread_arg_t *arg, long row)
{
	unsigned char *val = arg->data + arg->data_pos + row % ROWS * PIXELS * 3;

	for (int i = 0; i < PIXELS; i++, val += 3) {
		arg->blue[val[0]]++;
		arg->green[val[1]]++;
		arg->red[val[2]]++;
	}
}

static void *calc_hist(void *arg)
{
	thread_arg_t *thread_arg = arg;

	for (long row = 0; row < thread_arg->data_len; row++)
		calc_row(thread_arg, row);
	return NULL;
}

int main(int argc, char **argv)
{
	int num_procs = argc > 1 ? atoi(argv[1]) : 2;
	long rows = argc > 2 ? atol(argv[2]) : 100000, counted = 0, sky;
	thread_arg_t *arg = aligned_alloc(64, ((size_t)num_procs * sizeof *arg + 63) / 64 * 64);
	pthread_t *pid = malloc((size_t)num_procs * sizeof *pid);

	paint();
	for (int i = 0; i < num_procs; i++) {
		arg[i] = (thread_arg_t){ .data = image };
		arg[i].data_len = rows * (i + 1) / num_procs - rows * i / num_procs;
	}
	for (int i = 0; i < num_procs; i++)
		pthread_create(&pid[i], NULL, calc_hist, &arg[i]);
	sky = 0;
	for (int i = 0; i < num_procs; i++) {
		pthread_join(pid[i], NULL);
		for (int c = 0; c < 256; c++)
			counted += arg[i].green[c];
		sky += arg[i].blue[255];
	}
	printf("%ld pixels, %ld of sky\n", counted, sky);
	free(arg);
	free(pid);
	return counted != rows * PIXELS || sky * 8 != counted;
}
