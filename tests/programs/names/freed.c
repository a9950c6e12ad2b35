// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory that is gone at the end: an object that came to a line when others already shared it, and a list
// that is handed to a thread, which reads it once.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct early { long here; };
struct late { long there; };
struct item { struct item *next; long value[7]; };

static void *hammer(void *field)
{
    for (int i = 0; i < 3000; i++)
        __atomic_fetch_add((long *)field, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *consume(void *list)
{
    long sum = 0;
    for (struct item *item = list, *next; item; item = next) {
        next = item->next;
        sum += item->value[3];
        free(item);
    }
    return (void *)sum;
}

static void fight(long *field)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, hammer, field);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    struct early *early;
    void *beside;
    do {
        early = malloc(sizeof *early);
        beside = malloc(sizeof *early);
    } while ((uintptr_t)early / 64 != (uintptr_t)beside / 64);
    free(beside);
    fight(&early->here);
    struct late *late;
    int tries = 0;
    do
        late = malloc(sizeof *late);
    while (late != beside && ++tries < 100);
    fight(&late->there);
    int apart = late != beside;
    free(late);

    struct item *list = NULL;
    for (int i = 0; i < 500; i++) {
        struct item *item = malloc(sizeof *item);
        item->next = list;
        item->value[3] = i;
        list = item;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, consume, list);
    pthread_join(thread, NULL);
    return apart;
}
