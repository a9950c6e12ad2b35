/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inline assembly that is not seen, some of it not reached, some annotated; and some that touches no memory. */
#include <corefold.h>
#include <stdio.h>

void bump(int *value);

static char area[512] __attribute__((aligned(64)));

__attribute__((noinline)) static void saved(void)
{
	__asm__ __volatile__("fxsave %0" : "=m"(area) : : "memory");
}

__attribute__((noinline)) static void annotated(void)
{
	COREFOLD_ACCESS_WRITE(area, 64);
	__asm__ __volatile__("fxsave (%0) # second" : : "r"(area) : "memory");
}

__attribute__((noinline)) static void not_reached(void)
{
	__asm__ __volatile__("fxrstor %0" : : "m"(area) : "memory");
}

__attribute__((noinline)) static void harmless(void)
{
	__asm__ __volatile__("" ::: "memory");
	__asm__ __volatile__("nop; pause; rep; nop");
	__asm__ __volatile__("prefetcht0 %0; lfence" : : "m"(area));
}

int main(int argc, char **argv)
{
	int value = 0;

	(void)argv;
	for (int i = 0; i < 3; i++)
		saved();
	annotated();
	harmless();
	if (argc > 1)
		not_reached();
	bump(&value);
	printf("%d\n", value);
	return value != 1;
}
