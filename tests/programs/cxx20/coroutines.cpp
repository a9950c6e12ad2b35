// SPDX-License-Identifier: MIT OR Apache-2.0
// Coroutines that threads of a pool resume in turn: each step of one may run on another thread.
#include "../pthread/check.h"
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
	std::mutex mutex_;
	std::condition_variable filled_;
	std::deque<std::coroutine_handle<>> ready_;
	bool closed_ = false;
	std::vector<std::jthread> threads_;

	std::coroutine_handle<> next() {
		std::unique_lock lock(mutex_);
		filled_.wait(lock, [this] { return closed_ || !ready_.empty(); });
		if (ready_.empty())
			return nullptr;
		auto handle = ready_.front();
		ready_.pop_front();
		return handle;
	}

public:
	explicit Pool(int threads) {
		for (int i = 0; i < threads; i++)
			threads_.emplace_back([this] {
				while (auto handle = next())
					handle.resume();
			});
	}
	~Pool() {
		{
			std::lock_guard lock(mutex_);
			closed_ = true;
		}
		filled_.notify_all();
		threads_.clear();
	}

	// co_await pool.turn(): goes on in whichever thread is free.
	auto turn() {
		struct Turn {
			Pool &pool;
			bool await_ready() { return false; }
			void await_suspend(std::coroutine_handle<> handle) {
				{
					std::lock_guard lock(pool.mutex_);
					pool.ready_.push_back(handle);
				}
				pool.filled_.notify_one();
			}
			void await_resume() {}
		};
		return Turn{*this};
	}
};

struct Task {
	struct promise_type {
		Task get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

template <class T> struct Generator {
	struct promise_type {
		T value;
		Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(T next) {
			value = next;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> handle;
	~Generator() { handle.destroy(); }
	bool next() {
		handle.resume();
		return !handle.done();
	}
};

static Generator<long> squares(long count) {
	for (long i = 1; i <= count; i++)
		co_yield i * i;
}

static std::atomic<long> sum, left;

static Task add(Pool &pool, long count) {
	for (auto each = squares(count); each.next();) {
		co_await pool.turn();
		sum += each.handle.promise().value;
	}
	if (--left == 0)
		left.notify_all();
}

static long summed() {
	constexpr int TASKS = 12;
	left = TASKS;
	{
		Pool pool(4);
		for (int i = 0; i < TASKS; i++)
			add(pool, 10 + i);
		for (long now; (now = left) != 0;)
			left.wait(now);
	}
	return sum;
}

int main() {
	long expected = 0;
	for (long count = 10; count < 22; count++)
		expected += count * (count + 1) * (2 * count + 1) / 6;
	CHECK(summed() == expected);
	printf("%ld\n", expected);
}
