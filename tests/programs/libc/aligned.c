/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Objects with large alignments, freed beside others: nobody's bytes change but theirs. */
#include "check.h"
#include <string.h>

/* Compilers know what malloc returns, and would leave it all out. */
static void *volatile seen;

static void keeps(size_t align, size_t bytes, size_t other)
{
	unsigned char *aligned = aligned_alloc(align, bytes), *neighbour = malloc(other);
	unsigned char *again;

	CHECK(aligned && neighbour);
	seen = aligned;
	seen = neighbour;
	memset(aligned, 1, bytes);
	memset(neighbour, 2, other);
	seen = aligned;
	free(aligned);
	for (size_t i = 0; i < other; i++)
		CHECK(neighbour[i] == 2);
	CHECK(posix_memalign((void **)&again, align, bytes) == 0 && again);
	memset(again, 3, bytes);
	seen = again;
	for (size_t i = 0; i < other; i++)
		CHECK(neighbour[i] == 2);
	free(neighbour);
	for (size_t i = 0; i < bytes; i++)
		CHECK(again[i] == 3);
	free(again);
}

int main(void)
{
	/* No neighbour is as large as one before: it gets a place of its own, right behind. */
	size_t step = 0;

	for (size_t align = 64; align <= 4 << 20; align *= 4)
		for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 32)
			keeps(align, (bytes + align - 1) / align * align, (1 << 20) + step++ * 8192);
	puts("kept");
	return 0;
}
