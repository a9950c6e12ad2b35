// SPDX-License-Identifier: MIT OR Apache-2.0
// Random numbers are random, and how long the program works depends on them: so does its recording.
#include "check.h"
#include <random>
#include <set>
#include <thread>
#include <vector>
#include <sys/random.h>

static volatile unsigned long sink;

static void work(unsigned long steps)
{
	for (unsigned long i = 0; i < steps; i++)
		sink = sink + i;
}

int main()
{
	std::set<unsigned long> seen;
	std::random_device device, other("/dev/urandom"), instruction("rdrand");
	unsigned char bytes[300];

	CHECK(std::thread::hardware_concurrency() >= 1);
	for (int i = 0; i < 64; i++)
		seen.insert(device()), seen.insert(other()), seen.insert(instruction());
	for (int i = 0; i < 64; i++) {
		unsigned long number = 0;
		CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
		seen.insert(number);
		work(number % 1000);
		CHECK(getentropy(&number, sizeof(number)) == 0);
		seen.insert(number);
		work(number % 1000);
		work(device() % 1000);
		work(arc4random_uniform(1000));
		number = 0;
		FILE *file = fopen("/dev/urandom", "r");
		CHECK(file && fread(&number, sizeof(number), 1, file) == 1 && fclose(file) == 0);
		seen.insert(number);
		work(number % 1000);
	}
	CHECK(seen.size() > 64 * 6 - 4);
	CHECK(getentropy(bytes, sizeof(bytes)) == -1);
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([] { work(std::random_device()() % 10000); });
	for (auto &thread : threads)
		thread.join();
	std::puts("random numbers are random");
}
