/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The locked singleton that "C++ and the Perils of Double-Checked Locking" (Meyers and Alexandrescu, 2004) starts
// from: each call of instance() takes a global mutex, though only the first one needs it.
// The twin uses a static local object, which is initialised before the threads start and read without a lock.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

class Settings {
public:
	static Settings *instance();

	uint64_t price(uint64_t kind) const { return prices[kind % 64]; }

private:
	Settings()
	{
		for (uint64_t i = 0; i < 64; i++)
			prices[i] = i * i + 1;
	}

	uint64_t prices[64];
};

#ifdef TWIN
__attribute__((noinline)) Settings *Settings::instance()
{
	static Settings settings;

	return &settings;
}
#else
static std::mutex instance_lock;
static Settings *settings;

__attribute__((noinline)) Settings *Settings::instance()
{
	std::lock_guard<std::mutex> guard(instance_lock);

	if (!settings)
		settings = new Settings;
	return settings;
}
#endif

static pthread_barrier_t start;

__attribute__((noinline)) static uint64_t order(uint64_t number)
{
	uint64_t kind = number;

	for (int i = 0; i < 24; i++)
		kind = (kind ^ kind >> 31) * 0x9e3779b97f4a7c15u;
	return Settings::instance()->price(kind >> 32);
}

static void sell(long first, long end, uint64_t *result)
{
	uint64_t sum = 0;

	pthread_barrier_wait(&start);
	for (long i = first; i < end; i++)
		sum += order(sum + (uint64_t)i);
	*result = sum;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2, work = argc > 2 ? atol(argv[2]) : 100000;
	std::vector<std::thread> running;
	std::vector<uint64_t> results(threads);
	uint64_t sum = 0;

	Settings::instance();
	pthread_barrier_init(&start, nullptr, threads);
	for (long t = 0; t < threads; t++)
		running.emplace_back(sell, work * t / threads, work * (t + 1) / threads, &results[t]);
	for (long t = 0; t < threads; t++) {
		running[t].join();
		sum += results[t];
	}
	printf("%ld orders, sum %llu\n", work, (unsigned long long)sum);
	return sum < (uint64_t)work;
}
