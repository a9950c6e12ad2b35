/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads wait for one that computes for long. Prints how late the last of them saw its flag (in
// nanoseconds), and how often one looked that gives up after so many looks.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LOOKS = 200000 };

#ifdef UNALIGNED
// What a compiler knows nothing of but that it may cross a line.
static _Alignas(128) struct __attribute__((packed)) { char before; volatile int value; } flag;
static int seen_flag(void) { return flag.value; }
static void set_flag(void) { flag.value = 1; }
#else
static _Alignas(128) _Atomic int flag;
static int seen_flag(void) { return atomic_load_explicit(&flag, memory_order_acquire); }
static void set_flag(void) { atomic_store(&flag, 1); }
#endif
static _Alignas(128) _Atomic int never;
static _Alignas(128) volatile long sink;

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

#ifdef CALLS
// Saves a register on the stack beside a word, for alignment, that it never writes.
__attribute__((noinline)) static int is_time(long wanted) {
    int value = seen_flag();
    return value == wanted && !atomic_load_explicit(&never, memory_order_relaxed);
}
#endif

static void *wait_for_flag(void *seen) {
#ifdef STORES
    // As a loop around a compare-and-swap keeps the value that it expects, and as some make a fence.
    int expected;
    do {
        expected = seen_flag();
        __asm__ volatile("lock notl %0" : "+m"(expected));
    } while (expected == ~0);
#elif defined COUNTS
    // As a benchmark counts its operations until it is told to stop.
    static _Thread_local volatile long done;
    while (!seen_flag())
        done++;
#elif defined READS
    // More words than a spin has places for, on lines that nobody else uses.
    volatile long *own = aligned_alloc(64, 128);
    for (int i = 0; i < 12; i++)
        own[i] = 0;
    while (!seen_flag() && !(own[0] | own[1] | own[2] | own[3] | own[4] | own[5] | own[6] | own[7] | own[8] | own[9] | own[10] | own[11]))
        ;
#elif defined CALLS
    for (volatile long wanted = 1; !is_time(wanted);)
        ;
#elif defined YIELDS
    while (!seen_flag())
        sched_yield();
#else
    while (!seen_flag())
        ;
#endif
    *(long *)seen = now();
    return NULL;
}

static void *give_up(void *looked) {
    long looks = 0;
#ifdef STORES
    // It counts on its stack, and beside it.
    static _Thread_local volatile long again;
    while (looks < LOOKS && !atomic_load_explicit(&never, memory_order_acquire)) {
        __asm__ volatile("incq %0" : "+m"(looks));
        again++;
    }
    looks = looks == again ? looks : -1;
#endif
    while (looks < LOOKS && !atomic_load_explicit(&never, memory_order_acquire))
        looks++;
    *(long *)looked = looks;
    return NULL;
}

// spins THREADS STEPS
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2, steps = argc > 2 ? atol(argv[2]) : 1000;
    pthread_t thread[threads], impatient;
    long *seen[threads], *looked = calloc(1, 128), last = 0;
    pthread_create(&impatient, NULL, give_up, looked);
    for (long t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, wait_for_flag, seen[t] = calloc(1, 128));
    for (long i = 0; i < steps; i++)
        sink += i;
    long told = now();
    set_flag();
    for (long t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        last = *seen[t] > last ? *seen[t] : last;
    }
    pthread_join(impatient, NULL);
    printf("late %ld looked %ld\n", last - told, *looked);
    return 0;
}
