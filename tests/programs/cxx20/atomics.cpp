// SPDX-License-Identifier: MIT OR Apache-2.0
// Atomics of C++20: references to plain objects, floating point, waiting; and what waits with them.
#include "../pthread/check.h"
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

static constexpr int THREADS = 6;

template <class Body> static void in_threads(Body body) {
	std::vector<std::jthread> all;
	for (int i = 0; i < THREADS; i++)
		all.emplace_back(body, i);
}

static void references() {
	alignas(std::atomic_ref<long>::required_alignment) long plain[2] = {};
	in_threads([&](int i) {
		std::atomic_ref<long> shared(plain[i % 2]);
		for (int n = 0; n < 200; n++)
			shared.fetch_add(n, std::memory_order_relaxed);
	});
	CHECK(plain[0] == plain[1] && plain[0] == 3 * 199 * 100);
}

static void floating_point() {
	std::atomic<double> total = 0;
	in_threads([&](int i) { total += i + 0.5; });
	CHECK(total == 18);
}

static void turns() {
	std::atomic<int> turn = 0;
	std::atomic_flag over;
	int order[THREADS] = {};
	in_threads([&](int i) {
		for (int now; (now = turn) != i;)
			turn.wait(now);
		order[i] = turn++;
		turn.notify_all();
		if (i + 1 == THREADS) {
			over.test_and_set();
			over.notify_all();
		}
		over.wait(false);
	});
	for (int i = 0; i < THREADS; i++)
		CHECK(order[i] == i);
}

static void phases() {
	std::latch started(THREADS);
	std::counting_semaphore<3> slots(3);
	std::atomic<int> inside = 0, most = 0;
	int completed = 0;
	std::barrier all(THREADS, [&]() noexcept { completed++; });
	in_threads([&](int) {
		started.arrive_and_wait();
		for (int phase = 0; phase < 4; phase++) {
			slots.acquire();
			int now = ++inside;
			for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);)
				;
			inside--;
			slots.release();
			all.arrive_and_wait();
			CHECK(completed == phase + 1);
		}
	});
	CHECK(most >= 1 && most <= 3);
}

static void stopping() {
	std::mutex mutex;
	std::condition_variable_any never;
	std::atomic<int> stopped = 0;
	{
		std::vector<std::jthread> waiting;
		for (int i = 0; i < THREADS; i++)
			waiting.emplace_back([&](std::stop_token stop) {
				std::unique_lock lock(mutex);
				CHECK(!never.wait(lock, stop, [] { return false; }));
				stopped++;
			});
	}
	CHECK(stopped == THREADS);
}

int main() {
	references();
	floating_point();
	turns();
	phases();
	stopping();
	printf("fine\n");
}
