// SPDX-License-Identifier: MIT OR Apache-2.0
// Streams that many threads share: no line is torn, none is lost, and a lock holds over several calls.
#include "check.h"
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

enum { THREADS = 8, LINES = 60 };

template <class F> static void run(F work)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
}

static void writers(FILE *file)
{
	run([=](int me) {
		for (int i = 0; i < LINES; i++) {
			if (i % 3 == 0) {
				CHECK(fprintf(file, "one %d %d\n", me, i) > 0);
				continue;
			}
			flockfile(file);
			CHECK(fprintf(file, "two %d ", me) > 0);
			std::this_thread::yield();
			if (i % 5 == 0)
				std::this_thread::sleep_for(std::chrono::microseconds(20));
			CHECK(fprintf(file, "%d\n", i) > 0);
			funlockfile(file);
		}
	});
}

static void readers(FILE *file)
{
	std::atomic<int> lines{0}, sum{0};

	run([&](int) {
		char *line = nullptr, word[8];
		size_t room = 0;
		int thread, number;

		while (getline(&line, &room, file) > 0) {
			CHECK(sscanf(line, "%7s %d %d", word, &thread, &number) == 3);
			CHECK(!strcmp(word, number % 3 ? "two" : "one"));
			lines++;
			sum += number;
		}
		free(line);
	});
	CHECK(lines == THREADS * LINES && sum == THREADS * LINES * (LINES - 1) / 2);
}

static void through_cxx(const char *name)
{
	std::ofstream out(name);
	for (int i = 0; i < 1000; i++)
		out << i << ' ' << i * 0.5 << '\n';
	out.close();
	CHECK(out);
	std::ifstream in(name);
	int number;
	double half, sum = 0;
	while (in >> number >> half)
		sum += half;
	CHECK(in.eof() && sum == 0.5 * 999 * 1000 / 2);
	std::ostringstream text;
	text << 1 << "x" << 2.5;
	CHECK(text.str() == "1x2.5" && std::to_string(42) == "42");
}

int main()
{
	char name[] = "/tmp/streams-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w+");

	CHECK(fd >= 0 && file);
	writers(file);
	CHECK(fflush(file) == 0);
	rewind(file);
	readers(file);
	CHECK(ftrylockfile(file) == 0);
	std::thread([&] { CHECK(ftrylockfile(file) != 0); }).join();
	funlockfile(file);
	CHECK(fclose(file) == 0);
	through_cxx(name);
	CHECK(unlink(name) == 0);
	file = tmpfile();
	CHECK(file && fputs("kept", file) >= 0 && fclose(file) == 0);
	int c = std::cin.get();
	CHECK(c == EOF || c >= 0);
	std::cout << "streams are " << "right" << std::endl;
}
