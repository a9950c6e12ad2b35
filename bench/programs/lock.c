/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// All threads fight for one test-and-test-and-set lock. Prints the accesses made: every look at the
// lock word counts, and the two of the protected data.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    _Alignas(64) _Atomic int word;
    _Alignas(64) long value;
} lock;
static long turns_each;
static pthread_barrier_t start;

static void *work(void *argument) {
    long accesses = 0;
    pthread_barrier_wait(&start);
    for (long turn = 0; turn < turns_each; turn++) {
        while (atomic_exchange_explicit(&lock.word, 1, memory_order_acquire))
            do
                accesses++;
            while (atomic_load_explicit(&lock.word, memory_order_relaxed));
        lock.value++;
        atomic_store_explicit(&lock.word, 0, memory_order_release);
        accesses += 4;
    }
    *(long *)argument = accesses;
    return NULL;
}

// lock THREADS TURNS: so many turns in all.
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 1;
    turns_each = (argc > 2 ? atol(argv[2]) : 100000) / threads;
    pthread_t thread[threads];
    long *accesses[threads];
    pthread_barrier_init(&start, NULL, threads);
    for (long t = 0; t < threads; t++) {
        accesses[t] = calloc(1, 64);
        pthread_create(&thread[t], NULL, work, accesses[t]);
    }
    long sum = 0;
    for (long t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        sum += *accesses[t];
    }
    printf("%ld %ld\n", lock.value, sum);
    return 0;
}
