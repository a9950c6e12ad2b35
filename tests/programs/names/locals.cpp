// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads fight for two fields of a variable of `main`, which meanwhile waits inside the standard library.
#include <thread>

struct Queue {
    alignas(64) long entered = 0;
    long left = 0;
};

static void __attribute__((noinline)) hammer(long *field)
{
    for (int i = 0; i < 5000; i++)
        __atomic_fetch_add(field, 1, __ATOMIC_RELAXED);
}

int main()
{
    Queue queue;
    std::thread first([&] { hammer(&queue.entered); });
    std::thread second([&] { hammer(&queue.left); });
    first.join();
    second.join();
    return queue.entered + queue.left != 10000;
}
