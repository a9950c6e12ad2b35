// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that sleeps, on CPUs that others keep busy: preempt MICROSECONDS [THREADS [WORK]]. Before each sleep it
// works for WORK microseconds. Says how many microseconds it goes on late at most, and in all.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
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
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t busy[64];
    prctl(PR_SET_TIMERSLACK, 1); // Late by the scheduler alone.
    for (int i = 0; i < threads; i++)
        pthread_create(&busy[i], NULL, keep_busy, NULL);
    double working = argc > 3 ? atof(argv[3]) : 0, worst = 0, all = 0;
    for (int i = 0; i < 20; i++) {
        for (double start = now(); now() - start < working;)
            ;
        struct timespec nap = {0, microseconds * 1000};
        double begin = now();
        nanosleep(&nap, NULL);
        double late = now() - begin - microseconds;
        all += late;
        if (late > worst)
            worst = late;
    }
    atomic_store(&done, 1);
    for (int i = 0; i < threads; i++)
        pthread_join(busy[i], NULL);
    printf("%.0f\n%.0f\n", worst, all);
}
