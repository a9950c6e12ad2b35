/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Each thread writes its own element of an array: four to a line, or with -DPAD one.
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, TURNS = 20000 };
struct slot {
    volatile long hits, misses;
#ifdef PAD
    char pad[48];
#endif
};
static struct slot *slots;

static void *count(void *number) {
    struct slot *own = &slots[(long)number];
    for (int i = 0; i < TURNS; i++) {
        own->hits++;
        own->misses += i % 8 == 0;
    }
    return NULL;
}

int main(void) {
    pthread_t thread[THREADS];
    slots = aligned_alloc(64, THREADS * sizeof *slots);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&thread[t], NULL, count, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    return 0;
}
