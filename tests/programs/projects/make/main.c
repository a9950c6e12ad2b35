/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One thread puts, another takes. */
#include "served.h"
#include <stdio.h>
#include <stdlib.h>

#define ITEMS 2000

static struct queue *queue;

static void *put(void *unused)
{
	for (int i = 0; i < ITEMS; i++) {
		queue_put(queue);
		stats_put();
	}
	return unused;
}

static void *take(void *unused)
{
	for (int taken = 0; taken < ITEMS;)
		if (queue_take(queue)) {
			stats_taken();
			taken++;
		}
	return unused;
}

int main(void)
{
	pthread_t putter;

	queue = calloc(1, sizeof *queue);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_create(&putter, NULL, put, NULL);
	take(NULL);
	pthread_join(putter, NULL);
	printf("%ld put, %ld taken\n", stats.put, stats.taken);
	return 0;
}
