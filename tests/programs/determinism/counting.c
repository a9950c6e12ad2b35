/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Spins that count their turns: threads wait for a lock that is free, for their ticket, and for a flag, no longer than so many
// looks. Prints what each has counted, and the time: argv[1] rounds of argv[2] threads, argv[3] turns of a loop under the lock.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    _Alignas(64) _Atomic int word;
    _Alignas(64) _Atomic unsigned next;
    _Alignas(64) _Atomic unsigned serving;
    _Alignas(64) _Atomic int flag;
    _Alignas(64) volatile int plain;
    long value;
} shared;

static struct counts {
    _Alignas(64) uint64_t lock;
    uint32_t ticket, bounded, plain;
    uint16_t narrow;
} counts[64];

static long rounds, threads, held;
static pthread_barrier_t start;

static void hold(void) {
    for (volatile long i = 0; i < held; i++) {
    }
}

// In a register of 8 bytes.
static void locked(struct counts *mine) {
    uint64_t looks = 0;
    while (atomic_exchange_explicit(&shared.word, 1, memory_order_acquire))
        do
            looks += 3;
        while (atomic_load_explicit(&shared.word, memory_order_relaxed));
    shared.value++;
    hold();
    atomic_store_explicit(&shared.word, 0, memory_order_release);
    mine->lock += looks;
}

// In one of 4, which wraps round; each value that it finds is new.
static void served(struct counts *mine) {
    uint32_t looks = UINT32_MAX - 5;
    unsigned ticket = atomic_fetch_add_explicit(&shared.next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&shared.serving, memory_order_acquire) != ticket)
        looks--;
    hold();
    atomic_store_explicit(&shared.serving, ticket + 1, memory_order_release);
    mine->ticket += looks;
}

// The count ends the loop.
static void bounded(struct counts *mine) {
    uint32_t looks = 0;
    while (!atomic_load_explicit(&shared.flag, memory_order_acquire) && looks < 300)
        looks++;
    mine->bounded += looks;
}

// Of plain loads, and two counts.
static void plainly(struct counts *mine, int until) {
    uint32_t looks = 0;
    uint16_t narrow = 0;
    while (shared.plain < until) {
        looks++;
        narrow += 7;
    }
    mine->plain += looks;
    mine->narrow += narrow;
}

static void *work(void *argument) {
    long me = (long)argument;
    pthread_barrier_wait(&start);
    for (long round = 1; round <= rounds; round++) {
        locked(&counts[me]);
        served(&counts[me]);
        bounded(&counts[me]);
        if (me == 0) {
            hold();
            shared.plain = (int)round;
        } else {
            plainly(&counts[me], (int)round);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 10;
    threads = argc > 2 ? atol(argv[2]) : 2;
    held = argc > 3 ? atol(argv[3]) : 200;
    pthread_t thread[64];
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (long t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, work, (void *)t);
    for (long t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (long t = 0; t < threads; t++)
        printf("%lu %u %u %u %u\n", counts[t].lock, counts[t].ticket, counts[t].bounded, counts[t].plain, counts[t].narrow);
    printf("%ld %ld.%09ld\n", shared.value, (long)now.tv_sec, now.tv_nsec);
    return 0;
}
