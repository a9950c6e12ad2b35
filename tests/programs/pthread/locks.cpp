// SPDX-License-Identifier: MIT OR Apache-2.0
// std::mutex and its relatives, over std::thread.
#include "check.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
constexpr int ROUNDS = 1000;
static int threads = 8;

template <class Body> static void in_threads(Body body) {
	std::vector<std::thread> all;
	for (int i = 0; i < threads; i++)
		all.emplace_back(body, i);
	for (auto &thread : all)
		thread.join();
}

template <class Mutex> static void excludes(const char *name) {
	Mutex mutex;
	long counter = 0;
	in_threads([&](int) {
		for (int i = 0; i < ROUNDS / threads; i++) {
			std::lock_guard<Mutex> lock(mutex);
			counter++;
		}
	});
	CHECK(counter == ROUNDS / threads * threads);
	CHECK(mutex.try_lock());
	std::thread([&] { CHECK(!mutex.try_lock()); }).join();
	mutex.unlock();
	printf("%s excludes\n", name);
}

template <class Mutex> static void times_out(const char *name) {
	Mutex mutex;
	std::lock_guard<Mutex> lock(mutex);
	std::thread([&] {
		auto end = std::chrono::steady_clock::now() + 2ms;
		CHECK(!mutex.try_lock_for(2ms));
		CHECK(std::chrono::steady_clock::now() >= end);
		auto until = std::chrono::system_clock::now() + 2ms;
		CHECK(!mutex.try_lock_until(until));
		CHECK(std::chrono::system_clock::now() >= until);
	}).join();
	printf("%s times out\n", name);
}

static void shared() {
	std::shared_mutex mutex;
	long a = 0, b = 0;
	in_threads([&](int me) {
		for (int i = 0; i < ROUNDS / threads; i++) {
			if ((i + me) % 8 == 0) {
				std::unique_lock lock(mutex);
				a++;
				b++;
			} else {
				std::shared_lock lock(mutex);
				CHECK(a == b);
			}
		}
	});
	CHECK(a == b);
	std::shared_lock reader(mutex);
	std::thread([&] {
		CHECK(!mutex.try_lock());
		CHECK(mutex.try_lock_shared());
		mutex.unlock_shared();
	}).join();
	puts("std::shared_mutex");
}

// std::lock takes several without a deadlock, in whichever order they come.
static void several() {
	std::mutex first, second;
	long counter = 0;
	in_threads([&](int me) {
		for (int i = 0; i < ROUNDS / threads; i++) {
			std::mutex &one = me % 2 ? first : second, &other = me % 2 ? second : first;
			std::scoped_lock lock(one, other);
			counter++;
		}
	});
	CHECK(counter == ROUNDS / threads * threads);
	puts("std::scoped_lock of two");
}

static void recursion() {
	std::recursive_mutex mutex;
	std::lock_guard<std::recursive_mutex> once(mutex), twice(mutex);
	std::thread([&] { CHECK(!mutex.try_lock()); }).join();
	puts("std::recursive_mutex counts");
}

int main(int argc, char **argv) {
	if (argc > 1)
		threads = atoi(argv[1]);
	excludes<std::mutex>("std::mutex");
	excludes<std::timed_mutex>("std::timed_mutex");
	excludes<std::shared_timed_mutex>("std::shared_timed_mutex");
	times_out<std::timed_mutex>("std::timed_mutex");
	times_out<std::recursive_timed_mutex>("std::recursive_timed_mutex");
	times_out<std::shared_timed_mutex>("std::shared_timed_mutex");
	shared();
	several();
	recursion();
}
