/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * no_memory.h: allocations that fail on request. Its tests are linked with NO_MEMORY_LINK (Makefile), so that allocations of
 * the kit, and of no other library, come here.
 */
#ifndef KIT_TESTS_NO_MEMORY_H
#define KIT_TESTS_NO_MEMORY_H

#include "harness.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

/* Allocations until one fails, 0: none does. What was allocated and not freed. */
static long fail_in, in_use;

static bool fails(void)
{
	return __atomic_load_n(&fail_in, __ATOMIC_RELAXED) && __atomic_sub_fetch(&fail_in, 1, __ATOMIC_RELAXED) == 0;
}

static void *counted(void *memory)
{
	__atomic_fetch_add(&in_use, memory != NULL, __ATOMIC_RELAXED);
	return memory;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return fails() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *memory)
{
	__atomic_fetch_sub(&in_use, memory != NULL, __ATOMIC_RELAXED);
	__real_free(memory);
}

/*
 * `make` once for each allocation that it makes, which fails; then `destroy` if it has succeeded in spite of that. What it leaves
 * is what it found.
 */
static inline void each_allocation_fails(int (*make)(void), void (*destroy)(void))
{
	long before, left;
	CHECK_EQUAL(make(), 0); /* what a process makes once, by the way */
	destroy();
	before = __atomic_load_n(&in_use, __ATOMIC_RELAXED);
	for (long failing = 1;; failing++) {
		int result;
		__atomic_store_n(&fail_in, failing, __ATOMIC_RELAXED);
		result = make();
		left = __atomic_exchange_n(&fail_in, 0, __ATOMIC_RELAXED);
		CHECK(result == 0 || result == -ENOMEM);
		if (result == 0)
			destroy();
		CHECK_EQUAL(__atomic_load_n(&in_use, __ATOMIC_RELAXED), before);
		if (left) /* it makes fewer */
			break;
	}
}

#endif
