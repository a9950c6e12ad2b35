// SPDX-License-Identifier: MIT OR Apache-2.0
// `operator new` and `operator delete` in a library, from a pool: those for arrays call them.
#include <cstddef>
#include <new>

constexpr size_t POOL = 4 << 20;
alignas(4096) static char pool[POOL];
static size_t used;
static long wrong;
long objects;

void *operator new(size_t bytes)
{
	size_t whole = (bytes + 15) / 16 * 16;
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);

	if (at + whole > POOL)
		throw std::bad_alloc();
	__atomic_fetch_add(&objects, 1, __ATOMIC_RELAXED);
	return pool + at;
}

void operator delete(void *object) noexcept
{
	if (object && (object < pool || object >= pool + POOL))
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&objects, 1, __ATOMIC_RELAXED);
}

void operator delete(void *object, size_t) noexcept
{
	operator delete(object);
}

long wrongly_deleted()
{
	return wrong;
}
