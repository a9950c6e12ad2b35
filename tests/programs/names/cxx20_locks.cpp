// SPDX-License-Identifier: MIT OR Apache-2.0
// What C++20 has beside mutexes: cxx20_locks THREADS semaphore|barrier|latch
#include <barrier>
#include <cstdlib>
#include <latch>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

struct pool {
	std::binary_semaphore tokens{1};
};

static pool connections;

static void compute(int steps)
{
	for (volatile int step = 0; step < steps; step = step + 1)
		;
}

static void use_connections()
{
	for (int turn = 0; turn < 200; turn++) {
		connections.tokens.acquire();
		compute(300);
		connections.tokens.release();
	}
}

int main(int, char **arguments)
{
	int count = atoi(arguments[1]);
	std::string kind = arguments[2];
	std::barrier<> step_done(count);
	std::latch all_loaded(count);
	std::vector<std::thread> threads;
	for (int me = 0; me < count; me++)
		threads.emplace_back([&, me] {
			if (kind == "semaphore")
				use_connections();
			for (int round = 0; kind == "barrier" && round < 100; round++) {
				compute(300 * (me + 1));
				step_done.arrive_and_wait();
			}
			if (kind == "latch") {
				compute(30000 * (me + 1));
				all_loaded.arrive_and_wait();
			}
		});
	for (auto &thread : threads)
		thread.join();
	return 0;
}
