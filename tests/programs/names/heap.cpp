// SPDX-License-Identifier: MIT OR Apache-2.0
// Two threads, two members of one heap object, allocated in the way that is asked for: heap HOW
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop {
struct Till {
	long id = 0;
	std::atomic<long> sales{0}, returns{0};
};

template <typename T> struct Pair {
	std::atomic<T> low{0}, high{0};
};
} // namespace shop

static void hammer(std::atomic<long> &counter)
{
	for (int i = 0; i < 3000; i++)
		counter.fetch_add(1, std::memory_order_relaxed);
}

static void both(std::atomic<long> &one, std::atomic<long> &other)
{
	std::thread second([&other] { hammer(other); });
	hammer(one);
	second.join();
}

int main(int argc, char **argv)
{
	std::string how = argc == 2 ? argv[1] : "";

	if (how == "new") {
		auto *till = new shop::Till;
		both(till->sales, till->returns);
		delete till;
	} else if (how == "unique") {
		auto till = std::make_unique<shop::Till>();
		both(till->sales, till->returns);
	} else if (how == "template") {
		auto *pair = new shop::Pair<long>();
		both(pair->low, pair->high);
		delete pair;
	} else if (how == "vector") {
		std::vector<shop::Till> tills(5);
		both(tills[3].sales, tills[3].returns);
	} else {
		return 2;
	}
}
