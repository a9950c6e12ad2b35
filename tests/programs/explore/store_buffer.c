// SPDX-License-Identifier: MIT OR Apache-2.0
/* Dekker's handshake: each thread raises its flag and looks at the other's. Without a fence between the
 * two (FIXED has one) both stores can still be in the store buffers when both loads are over. */
#include "threads.h"

#include <stdatomic.h>

static struct {
	_Alignas(64) atomic_int flag;
	int saw;
} sides[2];
static atomic_int ready;

static void *take_part(void *arg)
{
	int me = (int)(long)arg;

	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 2)
		;
	atomic_store_explicit(&sides[me].flag, 1, memory_order_release);
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
	sides[me].saw = atomic_load_explicit(&sides[!me].flag, memory_order_acquire);
	return arg;
}

int main(void)
{
	run_threads(2, take_part);
	require(sides[0].saw || sides[1].saw, "neither saw the other's flag");
	return 0;
}
