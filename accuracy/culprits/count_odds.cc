/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Herb Sutter's example: each thread counts the odd elements of its part of a matrix in result[p], an array of int
 * on the heap, 16 threads to a cache line. Twin: result is padded to a line for each thread (one of the published
 * fixes). An element is a seed here, from which the number that counts is computed. count_odds THREADS ELEMENTS
 */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

const int DIM = 32;
unsigned matrix[DIM * DIM];

#ifdef TWIN
struct alignas(64) Count {
	int odds;
};
int &odds(Count &c) { return c.odds; }
#else
using Count = int;
int &odds(Count &c) { return c; }
#endif

Count *result;

bool is_odd(unsigned long element)
{
	for (int i = 0; i < 10; i++) {
		element = element * 6364136223846793005UL + 1442695040888963407UL;
		element ^= element >> 29;
	}
	return element >> 40 & 1;
}

__attribute__((noinline)) void look_at(unsigned element, int p)
{
	if (is_odd(element))
		++odds(result[p]);
}

void count(int p, long from, long to)
{
	for (long i = from; i < to; i++)
		look_at(matrix[i % (DIM * DIM)], p);
}

} // namespace

int main(int argc, char **argv)
{
	int P = argc > 1 ? atoi(argv[1]) : 2;
	long elements = argc > 2 ? atol(argv[2]) : 100000, found = 0, expected = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < DIM * DIM; i++)
		matrix[i] = static_cast<unsigned>(i) * 2654435761u;
	result = static_cast<Count *>(aligned_alloc(64, (P * sizeof(Count) + 63) / 64 * 64));
	for (int p = 0; p < P; p++)
		odds(result[p]) = 0;
	for (int p = 0; p < P; p++)
		threads.emplace_back(count, p, elements * p / P, elements * (p + 1) / P);
	for (int p = 0; p < P; p++) {
		threads[p].join();
		found += odds(result[p]);
	}
	for (int i = 0; i < DIM * DIM; i++)
		if (is_odd(matrix[i]))
			expected += elements / (DIM * DIM) + (i < elements % (DIM * DIM));
	printf("%ld odd elements\n", found);
	free(result);
	return found != expected;
}
