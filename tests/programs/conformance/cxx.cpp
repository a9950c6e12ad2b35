// SPDX-License-Identifier: MIT OR Apache-2.0
#include "says.h"
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

template <typename F> static auto in_thread(F body)
{
	return std::async(std::launch::async, body).get();
}

static void mutexes()
{
	std::shared_mutex shared;
	std::shared_timed_mutex shared_timed;
	std::timed_mutex timed;
	std::recursive_timed_mutex recursive;

	shared.lock_shared();
	SAYS("std::shared_mutex", "is shared by readers", in_thread([&] { bool got = shared.try_lock_shared(); if (got) shared.unlock_shared(); return got; }));
	SAYS("std::shared_mutex", "keeps a writer out", !in_thread([&] { return shared.try_lock(); }));
	shared.unlock_shared();
	shared_timed.lock();
	SAYS("std::shared_timed_mutex", "gives up reading at its time", !in_thread([&] { return shared_timed.try_lock_shared_for(5ms); }));
	SAYS("std::shared_timed_mutex", "gives up writing at its time", !in_thread([&] { return shared_timed.try_lock_until(std::chrono::steady_clock::now() + 5ms); }));
	shared_timed.unlock();
	timed.lock();
	SAYS("std::timed_mutex", "gives up at its time", !in_thread([&] { return timed.try_lock_for(5ms); }));
	SAYS("std::timed_mutex", "gives up at its time of the wall clock", !in_thread([&] { return timed.try_lock_until(std::chrono::system_clock::now() + 5ms); }));
	timed.unlock();
	recursive.lock();
	SAYS("std::recursive_timed_mutex", "can be had again", recursive.try_lock_for(1ms));
	SAYS("std::recursive_timed_mutex", "by its owner only", !in_thread([&] { return recursive.try_lock_for(1ms); }));
	recursive.unlock();
	recursive.unlock();
}

static void meetings()
{
	std::latch latch(4);
	std::atomic<int> phases = 0, early = 0, arrived = 0;
	std::barrier meeting(4, [&]() noexcept { phases++; });
	std::counting_semaphore<8> tokens(2);
	std::atomic<int> inside = 0, most = 0;
	{
		std::vector<std::jthread> threads;
		for (int i = 0; i < 4; i++)
			threads.emplace_back([&] {
				arrived++;
				latch.arrive_and_wait();
				if (arrived < 4)
					early++;
				for (int round = 0; round < 10; round++)
					meeting.arrive_and_wait();
				tokens.acquire();
				int now = ++inside;
				for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);)
					;
				std::this_thread::sleep_for(1ms);
				inside--;
				tokens.release();
			});
	}
	SAYS("std::latch", "opens when all are there", early == 0);
	SAYS("std::barrier", "completes each phase once", phases == 10);
	SAYS("std::counting_semaphore", "lets so many in", most <= 2 && most >= 1);
	std::binary_semaphore none(0);
	SAYS("std::counting_semaphore", "gives up at its time", !none.try_acquire_for(5ms));
}

static void waits()
{
	std::mutex mutex;
	std::condition_variable_any any;
	bool stopped = false;
	std::jthread waiter([&](std::stop_token token) {
		std::unique_lock lock(mutex);
		any.wait(lock, token, [] { return false; });
		stopped = token.stop_requested();
	});
	std::this_thread::sleep_for(1ms);
	waiter.request_stop();
	waiter.join();
	SAYS("std::jthread", "is stopped while it waits for a condition", stopped);
	std::unique_lock lock(mutex);
	SAYS("std::condition_variable_any", "gives up at its time", any.wait_for(lock, 5ms) == std::cv_status::timeout);

	std::atomic<int> word = 0;
	std::jthread other([&] { std::this_thread::sleep_for(1ms); word = 1; word.notify_all(); });
	word.wait(0);
	SAYS("std::atomic", "waits for another value", word == 1);
	int plain = 0;
	{
		std::vector<std::jthread> threads;
		for (int i = 0; i < 4; i++)
			threads.emplace_back([&] { for (int j = 0; j < 500; j++) std::atomic_ref(plain)++; });
	}
	SAYS("std::atomic_ref", "makes a plain variable atomic", plain == 2000);
	std::atomic<std::shared_ptr<int>> pointer = std::make_shared<int>(0);
	{
		std::vector<std::jthread> threads;
		for (int i = 0; i < 4; i++)
			threads.emplace_back([&] {
				for (int j = 0; j < 100; j++) {
					auto old = pointer.load();
					while (!pointer.compare_exchange_weak(old, std::make_shared<int>(*old + 1)))
						;
				}
			});
	}
	SAYS("std::atomic<std::shared_ptr>", "is exchanged whole", *pointer.load() == 400);
}

static void futures()
{
	std::promise<int> promise;
	auto future = promise.get_future();
	SAYS("std::future", "gives up at its time", future.wait_for(1ms) == std::future_status::timeout);
	std::jthread setter([&] { promise.set_value(7); });
	SAYS("std::promise", "gives its value", future.get() == 7);
	SAYS("std::async", "runs in another thread", std::async(std::launch::async, [] { return std::this_thread::get_id(); }).get() != std::this_thread::get_id());
	auto throws = std::async(std::launch::async, []() -> int { throw 5; });
	int caught = 0;
	try {
		throws.get();
	} catch (int value) {
		caught = value;
	}
	SAYS("std::async", "passes an exception on", caught == 5);
	std::packaged_task<int(int)> task([](int x) { return x + 1; });
	auto result = task.get_future();
	std::jthread runner(std::move(task), 41);
	SAYS("std::packaged_task", "gives its result", result.get() == 42);
	std::promise<void> broken;
	auto never = broken.get_future();
	broken = std::promise<void>();
	bool told = false;
	try {
		never.get();
	} catch (const std::future_error &) {
		told = true;
	}
	SAYS("std::future", "is told of a broken promise", told);

	std::once_flag flag;
	int calls = 0, done = 0;
	for (int i = 0; i < 3; i++) {
		try {
			std::call_once(flag, [&] { if (++calls == 1) throw 1; done++; });
		} catch (int) {
		}
	}
	SAYS("std::call_once", "begins again after an exception, and is done once", calls == 2 && done == 1);
}

int main()
{
	mutexes();
	meetings();
	waits();
	futures();
}
