// SPDX-License-Identifier: MIT OR Apache-2.0
// Objects on a cancelled thread's stack, C's cleanup handlers between them, and objects of the thread.
#include "../signals/check.h"
#include <atomic>
#include <condition_variable>
#include <cxxabi.h>
#include <mutex>
#include <string>
#include <thread>

static std::string told;
static std::mutex mutex;
static std::condition_variable condition;
static std::atomic<bool> ready;

struct Teller {
	const char *name;
	~Teller() { told += name; }
};

static thread_local Teller of_thread{"t"};

static void handler(void *name) { told += static_cast<const char *>(name); }

static void inner()
{
	Teller here{"i"};
	std::unique_lock<std::mutex> held(mutex);
	ready = true;
	condition.wait(held, [] { return false; });
}

static void middle()
{
	Teller here{"m"};
	pthread_cleanup_push(handler, const_cast<char *>("h"));
	Teller there{"n"};
	try {
		inner();
	} catch (abi::__forced_unwind &) {
		told += "f";
		throw;
	} catch (...) {
		told += "!";
	}
	pthread_cleanup_pop(0);
}

static void *outer(void *exits)
{
	Teller here{"o"};
	(void)of_thread.name;
	if (exits)
		pthread_exit(const_cast<char *>("left"));
	middle();
	return nullptr;
}

static void on_exit_of_main(void *)
{
	puts("unwinding is right");
	fflush(stdout);
}

static void *wait_for_main(void *main)
{
	CHECK(pthread_join(*static_cast<pthread_t *>(main), nullptr) == 0);
	CHECK(told == "M");
	exit(0);
}

int main()
{
	pthread_t thread, other;
	static pthread_t self = pthread_self();
	void *value;

	CHECK(pthread_create(&thread, nullptr, outer, nullptr) == 0);
	while (!ready)
		std::this_thread::yield();
	a_while();
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED);
	CHECK(told == "ifnhmot");
	CHECK(mutex.try_lock());
	told.clear();
	CHECK(pthread_create(&thread, nullptr, outer, &self) == 0);
	CHECK(pthread_join(thread, &value) == 0 && std::string(static_cast<char *>(value)) == "left");
	CHECK(told == "ot");
	told.clear();
	// The main thread can end by itself, too: its objects go, and the others go on.
	CHECK(pthread_create(&other, nullptr, wait_for_main, &self) == 0);
	Teller here{"M"};
	pthread_cleanup_push(on_exit_of_main, nullptr);
	pthread_exit(nullptr);
	pthread_cleanup_pop(0);
}
