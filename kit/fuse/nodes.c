// SPDX-License-Identifier: MIT OR Apache-2.0
// The files that the kernel knows: a node's address is its number, and the kernel counts its lookups, which it gives back by
// FORGET. All names of a file lead to one node, so that the kernel has one page cache and one set of attributes for it.
#include "front.h"

static struct bucket *bucket_of(struct front *front, const struct cf_inode *inode)
{
	return &front->buckets[((uintptr_t)inode >> 6) * 0x9e3779b97f4a7c15u >> 54];
}

struct node *node_of(struct front *front, fuse_ino_t number)
{
	return number == FUSE_ROOT_ID ? front->root : (struct node *)(uintptr_t)number;
}

fuse_ino_t node_number(const struct front *front, const struct node *node)
{
	return node == front->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

struct node *node_get(struct front *front, const struct cf_handle *handle)
{
	struct bucket *bucket = bucket_of(front, handle->inode);
	struct node *node, *fresh = malloc(sizeof *fresh);
	struct cf_handle spare = *handle;
	pthread_mutex_lock(&bucket->lock);
	for (node = bucket->first; node && node->handle.inode != handle->inode; node = node->next)
		;
	if (node) {
		node->lookups++;
	} else if (fresh) {
		*fresh = (struct node){ .handle = *handle, .lookups = 1, .next = bucket->first };
		bucket->first = node = fresh;
	}
	pthread_mutex_unlock(&bucket->lock);
	if (node != fresh || !fresh) {
		cf_handle_put(&spare);
		free(fresh);
	}
	return node;
}

void node_forget(struct front *front, fuse_ino_t number, uint64_t lookups)
{
	struct node *node = node_of(front, number), **at;
	struct bucket *bucket = bucket_of(front, node->handle.inode);
	bool last;
	if (node == front->root) // it stays
		return;
	pthread_mutex_lock(&bucket->lock);
	node->lookups -= lookups;
	last = node->lookups == 0;
	for (at = &bucket->first; last && *at != node; at = &(*at)->next)
		;
	if (last)
		*at = node->next;
	pthread_mutex_unlock(&bucket->lock);
	if (last) {
		cf_handle_put(&node->handle);
		free(node);
	}
}

int nodes_init(struct front *front)
{
	struct cf_handle root;
	for (int i = 0; i < NODE_BUCKETS; i++)
		pthread_mutex_init(&front->buckets[i].lock, NULL);
	cf_handle_root(front->vfs, &root);
	front->root = node_get(front, &root);
	return front->root ? 0 : -ENOMEM;
}

// After the last request: an unmount forgets nothing one by one.
void nodes_free(struct front *front)
{
	for (int i = 0; i < NODE_BUCKETS; i++)
		for (struct node *node = front->buckets[i].first, *next; node; node = next) {
			next = node->next;
			cf_handle_put(&node->handle);
			free(node);
		}
}
