// SPDX-License-Identifier: MIT OR Apache-2.0
// A C++ program with an allocator of its own: the C++ library asks it before the program starts, and so do libc's strdup
// and all kinds of `new`. Functions in `.preinit_array` run earlier still.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <thread>

namespace {
constexpr size_t HEADER = 16, ARENA = 16 << 20;
alignas(4096) char arena[ARENA];
size_t used;
long requests, foreign;
int early[8];

void fill_early()
{
	for (int i = 0; i < 8; i++)
		early[i] = i;
}

void *take(size_t align, size_t bytes)
{
	size_t whole = (bytes + HEADER + align + 15) / 16 * 16;
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	size_t object = (at + HEADER + align - 1) / align * align;

	if (at + whole > ARENA)
		return nullptr;
	reinterpret_cast<size_t *>(arena + object)[-1] = bytes;
	__atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
	return arena + object;
}
} // namespace

__attribute__((section(".preinit_array"), used)) static void (*const before_all)() = fill_early;

extern "C" void *malloc(size_t bytes)
{
	return take(16, bytes);
}

extern "C" void *aligned_alloc(size_t align, size_t bytes)
{
	return take(align, bytes);
}

extern "C" void *calloc(size_t count, size_t size)
{
	return take(16, count * size);
}

extern "C" void free(void *object)
{
	if (object && (object < arena || object >= arena + ARENA))
		__atomic_fetch_add(&foreign, 1, __ATOMIC_RELAXED);
}

extern "C" void *realloc(void *object, size_t bytes)
{
	void *fresh = malloc(bytes);

	if (object && fresh) {
		size_t had = static_cast<size_t *>(object)[-1];

		memcpy(fresh, object, had < bytes ? had : bytes);
	}
	return fresh;
}

namespace {
struct alignas(128) wide {
	char bytes[128];
};

template <typename T> T *seen(T *object)
{
	asm volatile("" : "+r"(object) : : "memory");
	return object;
}

void work()
{
	for (int i = 0; i < 20; i++) {
		delete seen(new long(i));
		delete[] seen(new long[i + 1]);
		delete seen(new wide);
		delete[] seen(new (std::nothrow) char[20]);
		free(seen(strdup("a string")));
		free(seen(strndup("a string", i)));
	}
}
} // namespace

int main()
{
	// The text of this error is the allocator's as well, and goes back to it when the next name is looked up.
	bool found = dlsym(RTLD_DEFAULT, "nobody_has_this") != nullptr;
	long before = requests;
	work();
	long asked = requests - before;
	std::thread other(work);
	other.join();
	bool thrown = false;
	try {
		seen(new char[2 * ARENA]);
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	printf("%d early, %d found, %ld requests, %ld foreign, thrown %d\n", early[7], found, asked, foreign, thrown);
}
