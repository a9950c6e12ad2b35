/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// How long timed waits last, in microseconds: a sleep of 5, of none, a condition variable's time-out of 5, poll of 200,000
// (all with the usual timer slack), then a sleep of 5 without slack, and one of a thread that was created so.
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void said(const char *what, long began) { printf("%s %ld\n", what, (now() - began) / 1000); }

static void *sleeps(void *what) {
    long began = now();
    nanosleep(&(struct timespec){0, 5000}, NULL);
    said(what, began);
    return NULL;
}

int main(void) {
    sleeps("sleep");
    long began = now();
    nanosleep(&(struct timespec){0, 0}, NULL);
    said("none", began);

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_t condition;
    pthread_cond_init(&condition, &attributes);
    pthread_mutex_lock(&mutex);
    began = now();
    long until = began + 5000;
    pthread_cond_timedwait(&condition, &mutex, &(struct timespec){until / 1000000000, until % 1000000000});
    said("condition", began);

    began = now();
    poll(NULL, 0, 200);
    said("poll", began);

    prctl(PR_SET_TIMERSLACK, 1);
    sleeps("exact");
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, "inherited");
    pthread_join(thread, NULL);
    printf("slack %d\n", prctl(PR_GET_TIMERSLACK));
    return 0;
}
