// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything at once that could differ between two runs: threads that allocate, hand over, wait, look at
// the clock and draw random numbers: exchange THREADS ROUNDS
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Order {
	std::string name;
	std::vector<int> amounts;
	std::chrono::steady_clock::time_point placed;
};

class Exchange {
public:
	void put(std::unique_ptr<Order> order)
	{
		{
			std::lock_guard<std::mutex> guard(mutex_);
			orders_.push_back(std::move(order));
		}
		any_.notify_one();
	}

	std::unique_ptr<Order> take()
	{
		std::unique_lock<std::mutex> guard(mutex_);
		any_.wait(guard, [this] { return !orders_.empty(); });
		auto order = std::move(orders_.front());
		orders_.pop_front();
		return order;
	}

private:
	std::mutex mutex_;
	std::condition_variable any_;
	std::deque<std::unique_ptr<Order>> orders_;
};

static Exchange exchange;
static std::atomic<long> sum{0};
static std::mutex book_mutex;
static std::unordered_map<std::string, long> book;

static void trade(int rounds)
{
	std::minstd_rand random(std::random_device{}());

	for (int round = 0; round < rounds; round++) {
		auto order = std::make_unique<Order>();
		order->name = "order number " + std::to_string(random() % 16);
		order->amounts.assign(random() % 40 + 1, 1);
		order->placed = std::chrono::steady_clock::now();
		exchange.put(std::move(order));

		auto taken = exchange.take();
		for (int amount : taken->amounts)
			sum.fetch_add(amount, std::memory_order_relaxed);
		std::lock_guard<std::mutex> guard(book_mutex);
		book[taken->name] += (std::chrono::steady_clock::now() - taken->placed).count();
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int count = atoi(argv[1]), rounds = atoi(argv[2]);
	std::vector<std::thread> threads;

	for (int i = 0; i < count; i++)
		threads.emplace_back(trade, rounds);
	for (auto &thread : threads)
		thread.join();
	std::map<std::string, long> sorted(book.begin(), book.end());
	for (auto &[name, nanoseconds] : sorted)
		printf("%s: %ld ns\n", name.c_str(), nanoseconds);
	printf("%ld\n", sum.load());
}
