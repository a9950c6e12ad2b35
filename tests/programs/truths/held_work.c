/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads do the same work under a pthread spin lock or under one of the program's own.
//
//   held_work THREADS pthread|own
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000, INSIDE = 100, OUTSIDE = 200 };

static _Alignas(64) pthread_spinlock_t lock;
static _Alignas(64) atomic_int own_lock;
static _Alignas(64) long counter;
static int is_own;

static void take(void) {
    if (!is_own)
        pthread_spin_lock(&lock);
    else
        while (atomic_exchange_explicit(&own_lock, 1, memory_order_acquire))
            while (atomic_load_explicit(&own_lock, memory_order_relaxed))
                __builtin_ia32_pause();
}

static void release(void) {
    if (!is_own)
        pthread_spin_unlock(&lock);
    else
        atomic_store_explicit(&own_lock, 0, memory_order_release);
}

static void *work(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        take();
        for (volatile int i = 0; i < INSIDE; i++)
            ;
        counter++;
        release();
        for (volatile int i = 0; i < OUTSIDE; i++)
            ;
    }
    return unused;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    is_own = argc > 2 && strcmp(argv[2], "own") == 0;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_t thread[threads];
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return counter == (long)threads * ROUNDS ? 0 : 1;
}
