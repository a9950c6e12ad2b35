/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * nodes.h: a few queue nodes for each thread, known by a number that fits into the 4 bytes of a lock. A thread needs one
 * for each lock that it queues for at the same time: one, and one more in each signal handler that interrupts it there.
 *
 * Lifetime: the memory of nodes is never given back, so whoever has a number may read its node. When a thread ends, its
 * nodes go to the next thread that begins.
 */
#ifndef KIT_SRC_NODES_H
#define KIT_SRC_NODES_H

#include <corefold/cf_wait.h>

#pragma GCC visibility push(hidden)

struct node {
	uint32_t waiting; /* as in struct cf_mcs_node: written by the neighbour ahead, watched by its owner */
	uint32_t next;    /* the neighbour behind, 0 is none; written by that one, and by its owner */
	uint32_t prev;    /* the neighbour ahead; written by its owner, and by that one when it leaves */
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct node) == CF_LINE, "a waiter spins on a line of its own");

enum { NODES_PER_THREAD = 4, NODES_PER_CHUNK = 256, NODE_CHUNKS = 4096 };

extern struct node *node_chunks[NODE_CHUNKS];

/* A free node of this thread; 0 if there is none: too many handlers in handlers, too many threads, or no memory. */
uint32_t node_take(void);
/* The one that was taken last, and is not given back yet. */
uint32_t node_last(void);
/* Gives that one back. */
void node_drop(void);

/* By a number that was read from a lock or a node: with an acquire load, or with one that depends on it. */
static inline struct node *node_at(uint32_t number)
{
	/* Relaxed: who has the number has it, through the lock, from one who had the chunk. */
	struct node *chunk = __atomic_load_n(&node_chunks[number / NODES_PER_CHUNK], __ATOMIC_RELAXED);
	return &chunk[number % NODES_PER_CHUNK];
}

#pragma GCC visibility pop

#endif
