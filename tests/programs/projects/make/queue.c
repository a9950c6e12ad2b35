/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "served.h"

void queue_put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->items++;
	pthread_mutex_unlock(&queue->lock);
}

int queue_take(struct queue *queue)
{
	int taken;

	pthread_mutex_lock(&queue->lock);
	taken = queue->items > 0;
	queue->items -= taken;
	pthread_mutex_unlock(&queue->lock);
	return taken;
}
