/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Every thread works on memory of its own: what a simulated access costs when nothing is shared.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long accesses_each, words = 512;

static void *work(void *argument) {
    long *mine = argument;
    for (long round = 0; round < accesses_each / (2 * words); round++)
        for (long i = 0; i < words; i++)
            mine[i] += round ^ i; // one read, one write
    return NULL;
}

// private THREADS ACCESSES [KIBIBYTES]: so many in all, two for each step; of data for each thread.
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 1;
    long accesses = argc > 2 ? atol(argv[2]) : 100000000;
    accesses_each = accesses / threads;
    if (argc > 3)
        words = atol(argv[3]) * 1024 / (long)sizeof(long);
    pthread_t thread[threads];
    long *data[threads];
    for (long t = 0; t < threads; t++) {
        data[t] = aligned_alloc(4096, (size_t)words * sizeof(long));
        for (long i = 0; i < words; i++)
            data[t][i] = t;
        pthread_create(&thread[t], NULL, work, data[t]);
    }
    long sum = 0;
    for (long t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        for (long i = 0; i < words; i++)
            sum += data[t][i];
    }
    printf("%ld\n", sum);
    return 0;
}
