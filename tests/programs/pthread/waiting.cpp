// SPDX-License-Identifier: MIT OR Apache-2.0
// What C++20 threads wait with: condition variables, atomics, semaphores, barriers, latches, futures.
#include "check.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
static int threads = 8;

template <class Body> static void in_threads(Body body) {
	std::vector<std::jthread> all;
	for (int i = 0; i < threads; i++)
		all.emplace_back(body, i);
}

static void condition_variables() {
	constexpr int ITEMS = 500;
	std::mutex mutex;
	std::condition_variable filled;
	std::queue<int> items;
	long sum = 0;
	bool closed = false;
	{
		std::jthread producer([&] {
			for (int i = 1; i <= ITEMS; i++) {
				{
					std::lock_guard lock(mutex);
					items.push(i);
				}
				filled.notify_one();
			}
			std::lock_guard lock(mutex);
			closed = true;
			filled.notify_all();
		});
		in_threads([&](int) {
			std::unique_lock lock(mutex);
			for (;;) {
				filled.wait(lock, [&] { return !items.empty() || closed; });
				if (items.empty())
					return;
				sum += items.front();
				items.pop();
			}
		});
	}
	CHECK(sum == ITEMS * (ITEMS + 1) / 2);
	std::unique_lock lock(mutex);
	auto end = std::chrono::steady_clock::now() + 2ms;
	CHECK(filled.wait_for(lock, 2ms) == std::cv_status::timeout);
	CHECK(std::chrono::steady_clock::now() >= end);
	CHECK(!filled.wait_until(lock, std::chrono::system_clock::now() + 2ms, [] { return false; }));
	puts("std::condition_variable");
}

static void any_condition_variable() {
	std::mutex mutex;
	std::condition_variable_any changed;
	std::atomic<int> stopped{0};
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&](std::stop_token stop) {
				std::unique_lock lock(mutex);
				changed.wait(lock, stop, [] { return false; });
				stopped++;
			});
	}
	CHECK(stopped == threads);
	puts("std::condition_variable_any and stop tokens");
}

static void atomics() {
	std::atomic<int> turn{0};
	std::atomic<bool> go{false};
	std::vector<int> order;
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&, i] {
				go.wait(false);
				for (int now; (now = turn.load()) != i;)
					turn.wait(now);
				order.push_back(i);
				turn.store(i + 1);
				turn.notify_all();
			});
		go = true;
		go.notify_all();
	}
	std::vector<int> expected(threads);
	std::iota(expected.begin(), expected.end(), 0);
	CHECK(order == expected);
	puts("std::atomic::wait");
}

static void semaphores() {
	constexpr int ROOM = 3;
	std::counting_semaphore<ROOM> room(ROOM);
	std::atomic<int> inside{0};
	in_threads([&](int) {
		for (int i = 0; i < 20; i++) {
			room.acquire();
			CHECK(++inside <= ROOM);
			--inside;
			room.release();
		}
	});
	std::binary_semaphore none(0);
	CHECK(!none.try_acquire());
	auto end = std::chrono::steady_clock::now() + 2ms;
	CHECK(!none.try_acquire_for(2ms));
	CHECK(std::chrono::steady_clock::now() >= end);
	puts("std::counting_semaphore");
}

static void barriers_and_latches() {
	std::atomic<int> arrived{0}, phases{0};
	std::barrier meeting(threads, [&]() noexcept { phases++; });
	std::latch all_done(threads);
	std::jthread observer([&] {
		all_done.wait();
		CHECK(arrived == 10 * threads);
	});
	in_threads([&](int) {
		for (int i = 1; i <= 10; i++) {
			arrived++;
			meeting.arrive_and_wait();
			CHECK(arrived >= i * threads && phases >= i);
		}
		all_done.count_down();
	});
	CHECK(phases == 10);
	puts("std::barrier and std::latch");
}

static void futures() {
	std::promise<int> promise;
	std::shared_future<int> answer = promise.get_future().share();
	std::atomic<int> sum{0};
	{
		std::vector<std::jthread> all;
		for (int i = 0; i < threads; i++)
			all.emplace_back([&] { sum += answer.get(); });
		CHECK(answer.wait_for(1ms) == std::future_status::timeout);
		promise.set_value(7);
	}
	CHECK(sum == 7 * threads);
	auto later = std::async(std::launch::async, [] { return 42; });
	CHECK(later.get() == 42);
	puts("std::future");
}

int main(int argc, char **argv) {
	if (argc > 1)
		threads = atoi(argv[1]);
	condition_variables();
	any_condition_variable();
	atomics();
	semaphores();
	barriers_and_latches();
	futures();
}
