/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Atomic stores by the hundred thousand, and no fence between them. */
#include "threads.h"

#include <stdatomic.h>

static struct {
	_Alignas(64) atomic_long value;
} words[4];

static void *take_part(void *arg)
{
	long me = (long)arg;

	for (long i = 0; i < 300000; i++)
		atomic_store_explicit(&words[(i + me) & 3].value, i, memory_order_relaxed);
	return arg;
}

int main(void)
{
	run_threads(2, take_part);
	return 0;
}
