/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// nodes THREADS TURNS: a lock (MCS) whose waiters queue with nodes in their functions' frames: others write there.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    _Atomic(struct node *) next;
    atomic_int locked;
};

static _Atomic(struct node *) tail;
static _Alignas(64) long value;
static long turns;

static void lock(struct node *mine) {
    atomic_store(&mine->next, NULL);
    atomic_store(&mine->locked, 1);
    struct node *before = atomic_exchange(&tail, mine);
    if (!before)
        return;
    atomic_store(&before->next, mine);
    while (atomic_load_explicit(&mine->locked, memory_order_acquire))
        ;
}

static void unlock(struct node *mine) {
    struct node *after = atomic_load(&mine->next), *last = mine;
    if (!after && atomic_compare_exchange_strong(&tail, &last, NULL))
        return;
    while (!after)
        after = atomic_load(&mine->next);
    atomic_store(&after->locked, 0);
}

static void *take_turns(void *unused) {
    for (long turn = 0; turn < turns; turn++) {
        struct node mine;
        lock(&mine);
        value++;
        unlock(&mine);
    }
    return unused;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    turns = argc > 2 ? atol(argv[2]) : 100;
    pthread_t thread[64];
    for (int t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, take_turns, NULL);
    for (int t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    printf("%ld\n", value);
    return 0;
}
