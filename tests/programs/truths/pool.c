/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics of threads in one heap object, behind a flag that all read; a count beside the lock that protects it, which is written
 * when its line is there already. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, ROUNDS = 2000 };

struct worker {
    atomic_ulong hits;
    atomic_ulong evictions;
};

struct pool {
    atomic_int lock;
    long allocations;
    long spare[6];
    int closing;
    struct worker workers[MOST];
};

static struct pool *pool;
static pthread_barrier_t begin;

static void *work(void *argument) {
    struct worker *own = argument;
    pthread_barrier_wait(&begin);
    for (int round = 0; round < ROUNDS && !pool->closing; round++) {
        atomic_fetch_add(&own->hits, 1);
        if (round % 100)
            continue;
        while (atomic_exchange(&pool->lock, 1))
            while (atomic_load(&pool->lock))
                ;
        pool->allocations++;
        atomic_store(&pool->lock, 0);
        atomic_fetch_add(&own->evictions, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : MOST;
    pthread_t all[MOST];
    pool = calloc(1, sizeof *pool);
    pthread_barrier_init(&begin, NULL, threads);
    for (int thread = 0; thread < threads; thread++)
        pthread_create(&all[thread], NULL, work, &pool->workers[thread]);
    for (int thread = 0; thread < threads; thread++)
        pthread_join(all[thread], NULL);
    printf("%ld\n", pool->allocations);
    return 0;
}
