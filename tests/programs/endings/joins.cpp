// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits inside the C++ library for a thread that does not end.
#include <thread>
#include <unistd.h>

static __attribute__((noinline)) void wait_for(std::thread &thread)
{
	thread.join();
	pause();
}

int main()
{
	std::thread thread([] { pause(); });
	wait_for(thread);
	return 0;
}
