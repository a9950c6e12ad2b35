/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

/* In the static library. */
struct queue {
	pthread_mutex_t lock;
	int items;
};
void queue_put(struct queue *queue);
int queue_take(struct queue *queue);

/* In the shared library. */
struct stats {
	atomic_long put, taken;
};
extern struct stats stats;
void stats_put(void);
void stats_taken(void);
