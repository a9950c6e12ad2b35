/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads that block at a mutex time and again, and run for moments only.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long value;

static void step(void) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 300; i++)
        value++;
    pthread_mutex_unlock(&mutex);
}

static void *work(void *turns) {
    for (long i = 0; i < (long)turns; i++)
        step();
    return NULL;
}

// blocking THREADS TURNS
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2, turns = argc > 2 ? atol(argv[2]) : 100;
    pthread_t thread[threads];
    for (long t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, work, (void *)turns);
    for (long t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    return 0;
}
