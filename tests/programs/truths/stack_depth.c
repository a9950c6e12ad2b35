/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many bytes of a stack that the program has made itself are written: by it, and by the runtime beneath it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

enum { BYTES = 256 << 10, UNTOUCHED = 0x5a };
static unsigned char *stack;
static ucontext_t back, there;
static void (*work)(void);
static volatile long sink;
static _Atomic long word;
static atomic_int turn, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void nothing(void) {}

static void blocks(void) {
    for (int i = 0; i < 100; i++) {
        if (i % 3)
            sink += i;
        else if (i % 7)
            sink -= i;
        for (int j = 0; j < 10; j++)
            sink += (double)i / (j + 1);
    }
}

static void atomics(void) {
    for (int i = 0; i < 100; i++) {
        word++;
        atomic_exchange(&word, i);
    }
}

static void locks(void) {
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&mutex);
        sink++;
        pthread_mutex_unlock(&mutex);
    }
}

static void times_out(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec -= 1;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&never, &mutex, &at);
    pthread_mutex_unlock(&mutex);
}

static void spins(void) {
    turn = 1;
    while (turn)
        ;
}

static void heap(void) {
    void *objects[50];
    for (int i = 0; i < 50; i++)
        objects[i] = malloc(i * 40 + 8);
    for (int i = 0; i < 50; i++)
        free(objects[i]);
}

static void sleeps(void) {
    nanosleep(&(struct timespec){0, 100000}, NULL);
}

static void copies(void) {
    static char from[5000], to[5000];
    memcpy(to, from, sizeof to);
    sink += to[77];
}

static void assembly(void) {
    for (int i = 0; i < 10; i++)
        __asm__ volatile("lock incq %0" : "+m"(word));
}

static void *ends(void *argument) {
    return argument;
}

static void creates(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
}

static void *other(void *argument) {
    while (!done) {
        pthread_mutex_lock(&mutex);
        sink++;
        pthread_mutex_unlock(&mutex);
        word++;
        turn = 0;
    }
    return argument;
}

static void enter(void) {
    work();
}

static void measure(const char *name, void (*what)(void)) {
    long untouched = 0;
    memset(stack, UNTOUCHED, BYTES);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = BYTES;
    there.uc_link = &back;
    work = what;
    makecontext(&there, enter, 0);
    swapcontext(&back, &there);
    while (untouched < BYTES && stack[untouched] == UNTOUCHED)
        untouched++;
    printf("%s %ld\n", name, BYTES - untouched);
}

int main(void) {
    pthread_t thread;
    stack = malloc(BYTES);
    pthread_create(&thread, NULL, other, NULL);
#define MEASURE(what) measure(#what, what)
    MEASURE(nothing);
    MEASURE(blocks);
    MEASURE(atomics);
    MEASURE(locks);
    MEASURE(times_out);
    MEASURE(spins);
    MEASURE(heap);
    MEASURE(sleeps);
    MEASURE(copies);
    MEASURE(assembly);
    MEASURE(creates);
    done = 1;
    pthread_join(thread, NULL);
    return 0;
}
