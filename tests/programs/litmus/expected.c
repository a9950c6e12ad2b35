/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A compare-and-swap writes the expected value only where it fails. That of a lock-free push is in the node, which is
 * another thread's from the moment that it is on the list; here it is in memory that cannot be written.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SWAPS(type, weak)                                                                                         \
	do {                                                                                                      \
		static type word, other;                                                                          \
		const type *expected = constants;                                                                 \
		type found = 2, *at = &found;                                                                     \
		memset(&other, 1, sizeof(other));                                                                 \
		word = *expected;                                                                                 \
		while (!__atomic_compare_exchange_n(&word, (type *)expected, other, weak, __ATOMIC_SEQ_CST,       \
						    __ATOMIC_RELAXED))                                            \
			;                                                                                         \
		if (word != other || __atomic_compare_exchange_n(&word, at, 3, weak, __ATOMIC_SEQ_CST,            \
								 __ATOMIC_RELAXED) || found != other)             \
			return puts("wrong"), 1;                                                                  \
	} while (0)

int main(void)
{
	void *constants = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (constants == MAP_FAILED)
		return perror("mmap"), 2;
	SWAPS(unsigned char, 0);
	SWAPS(unsigned char, 1);
	SWAPS(unsigned short, 0);
	SWAPS(unsigned short, 1);
	SWAPS(unsigned, 0);
	SWAPS(unsigned, 1);
	SWAPS(unsigned long, 0);
	SWAPS(unsigned long, 1);
	SWAPS(unsigned __int128, 0);
	SWAPS(unsigned __int128, 1);
	puts("kept");
	return 0;
}
