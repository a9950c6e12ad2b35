/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the inline hooks of the test need: the hot state, the shadow, and the slow path of a block. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

typedef unsigned long u64;

extern void record(u64 event);
extern int recording;

struct hot {
	unsigned tag, tag_dirty;
	u64 cost_half, clock, limit;
	u64 *frames;
	u64 frame_step;
};

static void *map(u64 at, u64 bytes)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *memory = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (memory != (void *)at)
		abort();
	return memory;
}

/* All is zero: every line is the running CPU's own, and no block is known. */
__attribute__((constructor)) static void prepare(void)
{
	static u64 frame;
	struct hot *hot = map(0x100000, 4096);
	map(0x7f000000, 1ul << 43);
	hot->frames = &frame;
	hot->limit = ~0ul;
}

void corefold_slow_block(u64 cell, u64 pc)
{
	(void)cell;
	if (recording)
		record(pc);
}

void corefold_slow_access(void)
{
	abort();
}
