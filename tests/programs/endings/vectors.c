/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads write to shared lines with vector instructions only. */
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 20000 };

typedef int vector __attribute__((vector_size(32)));

vector wide __attribute__((aligned(64)));
int streamed[16] __attribute__((aligned(64)));
int masked[16] __attribute__((aligned(64)));
int table[64] __attribute__((aligned(64)));
volatile int sink;

static void *work(void *unused)
{
	__m256i index = _mm256_set_epi32(0, 8, 16, 24, 32, 40, 48, 56);
	__m256i mask = _mm256_set1_epi32(-1), sum = _mm256_setzero_si256();

	for (int i = 0; i < ROUNDS; i++) {
		wide += (vector)sum;
		_mm256_stream_si256((__m256i *)streamed, sum);
		_mm256_maskstore_epi32(masked, mask, sum);
		sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32(table, index, 4));
	}
	sink = _mm256_extract_epi32(sum, 0);
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[64];
	unsigned a, b, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	__asm__ volatile(".byte 0x0f, 0x1f, 0x00");
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
