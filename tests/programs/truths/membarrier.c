// SPDX-License-Identifier: MIT OR Apache-2.0
// What a private expedited membarrier costs the caller while other threads run: cycles of virtual time are
// the run's own.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { QUERY = 0, PRIVATE = 8, REGISTER_PRIVATE = 16 };

static atomic_int done, ready;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *keep_busy(void *unused)
{
    volatile unsigned work = 0;
    atomic_fetch_add(&ready, 1);
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        for (int i = 0; i < 100; i++)
            work = work * 3 + 1;
    return unused;
}

static void *spin(void *unused)
{
    atomic_fetch_add(&ready, 1);
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        ;
    return unused;
}

int main(int argc, char **argv)
{
    enum { MOST = 1024, ROUNDS = 50 };
    int others = (argc > 1 ? atoi(argv[1]) : 1) - 1;
    pthread_t threads[MOST];
    for (int i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, argc > 2 ? spin : keep_busy, NULL);
    while (atomic_load(&ready) < others)
        usleep(100);
    if (syscall(SYS_membarrier, PRIVATE, 0, 0) != -1)
        return 1;
    if (!(syscall(SYS_membarrier, QUERY, 0, 0) & PRIVATE) || syscall(SYS_membarrier, REGISTER_PRIVATE, 0, 0) != 0)
        return 2;
    usleep(1000);
    double begin = now();
    for (int i = 0; i < ROUNDS; i++)
        if (syscall(SYS_membarrier, PRIVATE, 0, 0) != 0)
            return 3;
    double each = (now() - begin) / ROUNDS;
    atomic_store(&done, 1);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", each);
}
