// SPDX-License-Identifier: MIT OR Apache-2.0
// What `new` does where there is no memory.
#include "../signals/check.h"
#include <cstddef>
#include <cstdint>
#include <new>

static volatile size_t most = SIZE_MAX;
static int asked;

static void give_up()
{
	asked++;
	std::set_new_handler(nullptr);
}

template <class Exception, class Function> static bool throws(Function function)
{
	try {
		function();
	} catch (Exception &) {
		return true;
	}
	return false;
}

struct alignas(64) Line {
	char bytes[64];
};

int main()
{
	static char *volatile kept __attribute__((unused));
	static Line *volatile lines;

	CHECK(throws<std::bad_alloc>([] { kept = static_cast<char *>(::operator new(most)); }));
	CHECK(throws<std::bad_alloc>([] { kept = new char[most / 2 + 5]; }));
	CHECK(throws<std::bad_array_new_length>([] { lines = new Line[most]; }));
	CHECK(throws<std::bad_alloc>([] { lines = new Line[most / 128 + 5]; }));
	CHECK(!new (std::nothrow) char[most / 2 + 5]);
	std::set_new_handler(give_up);
	CHECK(throws<std::bad_alloc>([] { kept = static_cast<char *>(::operator new(most)); }));
	CHECK(asked == 1);
	lines = new Line[2];
	CHECK(reinterpret_cast<uintptr_t>(lines) % 64 == 0);
	delete[] lines;
	puts("memory is right");
}
