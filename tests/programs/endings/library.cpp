// SPDX-License-Identifier: MIT OR Apache-2.0
// A library with a constructor that begins a thread, and thread-local objects that have to be destroyed.
#include <pthread.h>
#include <unistd.h>

struct Loud {
	long value;
	Loud() : value(7) {}
	~Loud() { value = 0; }
};

static thread_local long mine = 5;
static thread_local Loud loud;
static int started;

static void *run(void *unused)
{
	mine += 1;
	started = 1;
	return unused;
}

__attribute__((constructor)) static void begin()
{
	pthread_t thread;

	usleep(500);
	pthread_create(&thread, nullptr, run, nullptr);
	pthread_join(thread, nullptr);
	usleep(500);
}

extern "C" long work(long more)
{
	mine += more;
	return mine + loud.value + started;
}
