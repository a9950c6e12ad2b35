// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that sleeps, on a CPU that another one keeps busy: how many microseconds late it goes on.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int done;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void *keep_busy(void *unused)
{
    volatile unsigned work = 0;
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        for (int i = 0; i < 100; i++)
            work = work * 3 + 1;
    return unused;
}

int main(int argc, char **argv)
{
    long microseconds = argc > 1 ? atol(argv[1]) : 20000;
    pthread_t busy;
    pthread_create(&busy, NULL, keep_busy, NULL);
    double worst = 0;
    for (int i = 0; i < 20; i++) {
        struct timespec nap = {0, microseconds * 1000};
        double begin = now();
        nanosleep(&nap, NULL);
        double late = now() - begin - microseconds;
        if (late > worst)
            worst = late;
    }
    atomic_store(&done, 1);
    pthread_join(busy, NULL);
    printf("%.0f\n", worst);
}
