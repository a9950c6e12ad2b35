/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The case that folly's CoreCachedSharedPtr was written for: each request copies one global std::shared_ptr to the
// configuration, so all threads add to and subtract from one reference count in the pointer's control block.
// The twin: each thread makes a pointer with a control block of its own to the same configuration, and copies that.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>

struct Config {
	char description[256];
	uint32_t weight[64];
};

struct alignas(128) Holder {
	std::shared_ptr<const Config> held;
};

static std::shared_ptr<const Config> config;
static pthread_barrier_t start;

__attribute__((noinline)) static std::shared_ptr<const Config> load_config()
{
	auto made = std::make_shared<Config>();

	snprintf(made->description, sizeof made->description, "weights of the backends");
	for (uint32_t i = 0; i < 64; i++)
		made->weight[i] = i * 2654435761u >> 16;
	return made;
}

// Hashes the request's text and takes a backend's weight for each of its 24 bytes.
__attribute__((noinline)) static uint64_t handle(std::shared_ptr<const Config> used, uint64_t request)
{
	uint64_t hash = 14695981039346656037u, sum = 0;

	for (int i = 0; i < 24; i++) {
		hash = (hash ^ (request >> (2 * i) & 255)) * 1099511628211u;
		sum += used->weight[hash & 63];
	}
	return sum;
}

static void serve(long first, long end, uint64_t *result)
{
	uint64_t sum = 0;
#ifdef TWIN
	auto holder = std::make_shared<Holder>();
	holder->held = config;
	std::shared_ptr<const Config> current(holder, holder->held.get());
#else
	std::shared_ptr<const Config> &current = config;
#endif

	pthread_barrier_wait(&start);
	for (long i = first; i < end; i++)
		sum += handle(current, sum + (uint64_t)i);
	*result = sum;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2, work = argc > 2 ? atol(argv[2]) : 100000;
	std::vector<std::thread> running;
	std::vector<uint64_t> results(threads);
	uint64_t sum = 0;

	config = load_config();
	pthread_barrier_init(&start, nullptr, threads);
	for (long t = 0; t < threads; t++)
		running.emplace_back(serve, work * t / threads, work * (t + 1) / threads, &results[t]);
	for (long t = 0; t < threads; t++) {
		running[t].join();
		sum += results[t];
	}
	printf("%ld requests, sum %llu, %ld references left\n", work, (unsigned long long)sum, config.use_count());
	return config.use_count() != 1 || (work > 0 && sum == 0);
}
