/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Objects with large alignments, freed beside others: nobody's bytes change but theirs. */
#include "check.h"
#include <malloc.h>
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

/* To a size of 0 is to free. */
static void to_nothing(void)
{
	void *object = malloc(100);

	seen = object;
	seen = realloc(object, 0);
	CHECK(!seen);
	seen = realloc(NULL, 0);
	CHECK(seen);
	free(seen);
}

/* Alignments are rounded up to powers of two; objects are at least as large as they were asked for. */
static void as_glibc_has_it(void)
{
	for (size_t align = 0; align < 600; align += 24) {
		size_t power = 16;
		void *object = memalign(align, 100);

		while (power < align)
			power *= 2;
		CHECK(object && (size_t)object % power == 0);
		free(object);
	}
	for (size_t bytes = 1; bytes < 1 << 20; bytes *= 3) {
		void *object = malloc(bytes);

		seen = object;
		CHECK(malloc_usable_size(object) >= bytes);
		free(object);
	}
	CHECK(malloc_usable_size(NULL) == 0);
	puts("as large as asked for");
}

int main(void)
{
	to_nothing();
	/* No neighbour is as large as one before: it gets a place of its own, right behind. */
	size_t step = 0;

	for (size_t align = 64; align <= 4 << 20; align *= 4)
		for (size_t bytes = 4096; bytes <= 4 << 20; bytes *= 32)
			keeps(align, (bytes + align - 1) / align * align, (1 << 20) + step++ * 8192);
	puts("kept");
	as_glibc_has_it();
	return 0;
}
