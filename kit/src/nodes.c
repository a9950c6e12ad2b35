// SPDX-License-Identifier: MIT OR Apache-2.0
// Which nodes are whose. A thread takes its block of nodes at its first wait and leaves it to others when it ends.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "nodes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A block is known by the number of its first node; the first block is never used, since 0 is no node.
struct node *node_chunks[NODE_CHUNKS];
static uint32_t next_block = NODES_PER_THREAD;
static uint32_t free_blocks; // a list through `next` of the blocks' first nodes

static __thread struct {
	uint32_t block, taken;
} own __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static int key_error;

static void give_back(void *block)
{
	uint32_t first = (uint32_t)(uintptr_t)block, head = __atomic_load_n(&free_blocks, __ATOMIC_RELAXED);
	own.block = 0;
	do
		__atomic_store_n(&node_at(first)->next, head, __ATOMIC_RELAXED);
	// Release: this thread's use of the nodes before the next one's, which takes them with acquire.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	while (!__atomic_compare_exchange_n(&free_blocks, &head, first, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, give_back);
}

// Takes the whole list, keeps its first block and puts the rest back: no block can be taken twice, as it could by a
// compare-and-swap of the head (ABA).
static uint32_t reused_block(void)
{
	// Acquire: after the release of those who gave blocks back.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	uint32_t first = __atomic_exchange_n(&free_blocks, 0, __ATOMIC_ACQUIRE), rest, last, head;
	if (!first)
		return 0;
	rest = last = __atomic_load_n(&node_at(first)->next, __ATOMIC_RELAXED);
	if (!rest)
		return first;
	for (uint32_t next; (next = __atomic_load_n(&node_at(last)->next, __ATOMIC_RELAXED)) != 0; last = next)
		;
	head = __atomic_load_n(&free_blocks, __ATOMIC_RELAXED);
	do
		__atomic_store_n(&node_at(last)->next, head, __ATOMIC_RELAXED);
	// Release: as in give_back. x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	while (!__atomic_compare_exchange_n(&free_blocks, &head, rest, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return first;
}

static bool chunk_is_there(uint32_t number)
{
	struct node **place = &node_chunks[number], *none = NULL, *chunk;
	// Acquire: after the zeroes of whoever made it, below.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	if (__atomic_load_n(place, __ATOMIC_ACQUIRE))
		return true;
	chunk = aligned_alloc(CF_LINE, NODES_PER_CHUNK * sizeof(struct node));
	if (!chunk)
		return false;
	memset(chunk, 0, NODES_PER_CHUNK * sizeof(struct node));
	// Release: the zeroes before the address. Acquire: another thread's zeroes, if it was first.
	// x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	if (!__atomic_compare_exchange_n(place, &none, chunk, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		free(chunk);
	return true;
}

static uint32_t new_block(void)
{
	uint32_t block = __atomic_load_n(&next_block, __ATOMIC_RELAXED);
	do {
		if (block >= NODE_CHUNKS * NODES_PER_CHUNK || !chunk_is_there(block / NODES_PER_CHUNK))
			return 0;
	// Relaxed: the number alone.
	} while (!__atomic_compare_exchange_n(&next_block, &block, block + NODES_PER_THREAD, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return block;
}

static uint32_t first_time(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t block;
	pthread_once(&once, make_key);
	block = key_error ? 0 : reused_block();
	if (!block && !key_error)
		block = new_block();
	if (block && pthread_setspecific(key, (void *)(uintptr_t)block)) {
		give_back((void *)(uintptr_t)block);
		return 0;
	}
	return own.block = block;
}

uint32_t node_take(void)
{
	uint32_t block = own.block;
	if (CF_UNLIKELY(!block) && !(block = first_time()))
		return 0;
	if (own.taken == NODES_PER_THREAD)
		return 0;
	// A handler that comes between these two takes another one and gives it back. The fence, here and in node_drop, is the
	// compiler's alone: machines cannot tell, for a handler runs on its thread.
	block += own.taken;
	__atomic_store_n(&own.taken, own.taken + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return block;
}

uint32_t node_last(void)
{
	return own.block + own.taken - 1;
}

void node_drop(void)
{
	// The compiler's alone, as in node_take: machines cannot tell, for a handler runs on its thread.
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&own.taken, own.taken - 1, __ATOMIC_RELAXED);
}
