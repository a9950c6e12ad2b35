/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of which the loader asks at the start which one is meant, before the runtime has its tables. */
#include "check.h"

static int table[] = { 1, 2, 3 };
int *volatile chosen = &table[1];

static int first(void)
{
	return table[0];
}

static int second(void)
{
	return table[2];
}

static int (*pick(void))(void)
{
	return *chosen == 2 ? second : first;
}

int picked(void) __attribute__((ifunc("pick")));

__attribute__((target_clones("avx2", "default"))) int sum(const int *of, int count)
{
	int all = 0;

	for (int i = 0; i < count; i++)
		all += of[i];
	return all;
}

int main(void)
{
	CHECK(picked() == 3);
	CHECK(sum(table, 3) == 6);
	puts("chosen");
	return 0;
}
