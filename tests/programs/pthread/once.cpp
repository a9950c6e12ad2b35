// SPDX-License-Identifier: MIT OR Apache-2.0
// std::call_once, also when it throws; static variables of functions, which are made once, too.
#include "check.h"
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static int threads = 8;
static std::atomic<int> made{0}, destroyed{0};

struct Slow {
	int value;
	Slow() : value(7) {
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		made++;
	}
};

static Slow &the_one() {
	static Slow slow;
	return slow;
}

struct Fails {
	explicit Fails(int attempt) {
		if (attempt < 3)
			throw std::runtime_error("not yet");
	}
};

static std::atomic<int> attempts{0};

static void the_fourth() { static Fails fails(attempts++); }

struct Witness {
	~Witness() { destroyed++; }
};

template <class Body> static void in_threads(Body body) {
	std::vector<std::thread> all;
	for (int i = 0; i < threads; i++)
		all.emplace_back(body);
	for (auto &thread : all)
		thread.join();
}

int main(int argc, char **argv) {
	if (argc > 1)
		threads = atoi(argv[1]);

	std::once_flag flag;
	int calls = 0;
	in_threads([&] {
		std::call_once(flag, [&] { calls++; });
		CHECK(calls == 1);
	});
	puts("std::call_once");

	std::once_flag failing;
	int tries = 0;
	std::atomic<int> caught{0};
	in_threads([&] {
		try {
			std::call_once(failing, [&] {
				Witness witness;
				if (++tries < 4)
					throw std::runtime_error("not yet");
			});
		} catch (const std::runtime_error &) {
			caught++;
		}
	});
	CHECK(tries == std::min(4, threads) && caught == std::min(3, threads) && destroyed == tries);
	puts("std::call_once that throws");

	in_threads([] { CHECK(the_one().value == 7); });
	CHECK(made == 1);
	puts("a static variable");

	std::atomic<int> failed{0};
	in_threads([&] {
		try {
			the_fourth();
		} catch (const std::runtime_error &) {
			failed++;
		}
	});
	CHECK(attempts == std::min(4, threads) && failed == std::min(3, threads));
	puts("a static variable that throws");
}
