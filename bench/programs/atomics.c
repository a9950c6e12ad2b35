/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// All threads add to one word: what a simulated transfer costs.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long word;
static long turns_each;

static void *work(void *unused) {
    for (long turn = 0; turn < turns_each; turn++)
        atomic_fetch_add_explicit(&word, 1, memory_order_relaxed);
    return unused;
}

// atomics THREADS TURNS: so many in all.
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 1;
    turns_each = (argc > 2 ? atol(argv[2]) : 1000000) / threads;
    pthread_t thread[threads];
    for (long t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, work, NULL);
    for (long t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    return 0;
}
