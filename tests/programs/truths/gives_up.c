/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Threads that wait for a lock of each kind for a limited time, in vain: all are held for as long as they try.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 10, NANOSECONDS = 1000 * 1000 };

static struct {
    pthread_mutex_t door;
    pthread_rwlock_t files;
    sem_t chairs;
    int bell;
} office;

static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += NANOSECONDS;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static int try_each(int turn) {
    struct timespec time = soon(), span = {.tv_nsec = NANOSECONDS};
    switch (turn % 5) {
    case 0: return pthread_mutex_timedlock(&office.door, &time);
    case 1: return pthread_rwlock_timedrdlock(&office.files, &time);
    case 2: return pthread_rwlock_timedwrlock(&office.files, &time);
    case 3: return sem_timedwait(&office.chairs, &time);
    default: return syscall(SYS_futex, &office.bell, FUTEX_WAIT, 0, &span);
    }
}

static void *visit(void *unused) {
    for (int turn = 0; turn < 5 * TURNS; turn++)
        if (try_each(turn) == 0)
            abort();
    return unused;
}

// gives_up THREADS
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 2;
    pthread_t thread[threads];
    pthread_mutex_init(&office.door, NULL);
    pthread_rwlock_init(&office.files, NULL);
    sem_init(&office.chairs, 0, 0);
    pthread_mutex_lock(&office.door);
    pthread_rwlock_wrlock(&office.files);
    for (long t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, visit, NULL);
    for (long t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    return 0;
}
