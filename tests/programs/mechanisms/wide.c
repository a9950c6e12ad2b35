// SPDX-License-Identifier: MIT OR Apache-2.0
// wide HOW: a tag beside a pointer that stays counts up, both being changed as one.
#include <stdint.h>
#include <stdio.h>

enum { TIMES = 20000 };

static _Alignas(16) struct {
	uint64_t pointer, tag;
} head;

static int exchange(uint64_t tag)
{
	unsigned __int128 old = (unsigned __int128)tag << 64;
	unsigned __int128 new = (unsigned __int128)(tag + 1) << 64;

	return __sync_bool_compare_and_swap((unsigned __int128 *)&head, old, new);
}

static int add(uint64_t tag)
{
	unsigned __int128 one = (unsigned __int128)1 << 64;

	return __atomic_fetch_add((unsigned __int128 *)&head, one, __ATOMIC_SEQ_CST) == (unsigned __int128)tag << 64;
}

static int exchange_by_assembly(uint64_t tag)
{
	uint64_t low = 0, high = tag;
	char done;

	__asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
					 : "=q"(done), "+m"(head), "+a"(low), "+d"(high)
					 : "b"(0ul), "c"(tag + 1)
					 : "memory", "cc");
	return done;
}

int main(int argc, char **argv)
{
	int failed = 0;
	int (*how)(uint64_t) = argv[1][0] == 'e' ? exchange : argv[1][0] == 'a' ? add : exchange_by_assembly;

	(void)argc;
	for (uint64_t i = 0; i < TIMES; i++)
		failed += !how(i);
	printf("tag %lu, %d failed\n", (unsigned long)head.tag, failed);
	return 0;
}
