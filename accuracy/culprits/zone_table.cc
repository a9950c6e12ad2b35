/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// A std::shared_mutex that is only ever taken shared while requests are served: each lock_shared() and its unlock
// write the lock ("Linear scalable read-write lock", blog.the-pans.com, explains it for folly::SharedMutex).
// The twin spreads the readers as that does: a lock for each thread, all of which a writer would have to take.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <vector>

struct alignas(128) Guard {
	std::shared_mutex shared;
};

class ZoneTable {
public:
	explicit ZoneTable(long readers) : guards(readers) {}

	void add(uint64_t name, uint64_t address)
	{
		for (Guard &guard : guards)
			guard.shared.lock();
		zones[name] = address;
		for (Guard &guard : guards)
			guard.shared.unlock();
	}

	__attribute__((noinline)) uint64_t find(long reader, uint64_t name)
	{
		std::shared_lock<std::shared_mutex> locked(guards[reader].shared);
		auto found = zones.find(name);

		return found == zones.end() ? 0 : found->second;
	}

private:
	std::vector<Guard> guards;
	alignas(128) std::map<uint64_t, uint64_t> zones;
};

static std::unique_ptr<ZoneTable> table;
static pthread_barrier_t start;

static void resolve(long reader, long requests, long *answered)
{
	uint64_t name = 88172645463325252u;
	long count = 0;

	pthread_barrier_wait(&start);
	for (long i = 0; i < requests; i++) {
		for (int step = 0; step < 6; step++) {
			name ^= name << 13;
			name ^= name >> 7;
			name ^= name << 17;
		}
		count += table->find(reader, name % 64) == 1000 + name % 64;
	}
	*answered = count;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 2, work = argc > 2 ? atol(argv[2]) : 100000, sum = 0;
	std::vector<std::thread> running;
	std::vector<long> answered(threads);

#ifdef TWIN
	table = std::make_unique<ZoneTable>(threads);
#else
	table = std::make_unique<ZoneTable>(1);
#endif
	for (uint64_t i = 0; i < 64; i++)
		table->add(i, 1000 + i);
	pthread_barrier_init(&start, nullptr, threads);
	for (long t = 0; t < threads; t++) {
		long reader = 0;
#ifdef TWIN
		reader = t;
#endif
		running.emplace_back(resolve, reader, work * (t + 1) / threads - work * t / threads, &answered[t]);
	}
	for (long t = 0; t < threads; t++) {
		running[t].join();
		sum += answered[t];
	}
	printf("%ld answers\n", sum);
	return sum != work;
}
