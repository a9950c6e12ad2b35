/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two locks whose scaling is known: everybody hammers one word, or everybody waits on a word of its own. */
#ifndef LOCKS_H
#define LOCKS_H

#include <stdatomic.h>
#include <stddef.h>

struct tas_lock {
	atomic_int held;
};

static inline void tas_lock(struct tas_lock *lock)
{
	while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
		;
}

static inline void tas_unlock(struct tas_lock *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Mellor-Crummey and Scott, 1991: a queue, each waiter spins on its own node. */
struct mcs_node {
	_Alignas(64) struct mcs_node *_Atomic next;
	atomic_int wait;
};

struct mcs_lock {
	_Alignas(64) struct mcs_node *_Atomic tail;
};

static inline void mcs_lock(struct mcs_lock *lock, struct mcs_node *me)
{
	struct mcs_node *before;

	atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&me->wait, 1, memory_order_relaxed);
	before = atomic_exchange_explicit(&lock->tail, me, memory_order_acq_rel);
	if (!before)
		return;
	atomic_store_explicit(&before->next, me, memory_order_release);
	while (atomic_load_explicit(&me->wait, memory_order_acquire))
		__builtin_ia32_pause();
}

static inline void mcs_unlock(struct mcs_lock *lock, struct mcs_node *me)
{
	struct mcs_node *last = me, *next = atomic_load_explicit(&me->next, memory_order_acquire);

	if (!next) {
		if (atomic_compare_exchange_strong_explicit(&lock->tail, &last, NULL, memory_order_release,
							    memory_order_relaxed))
			return;
		while (!(next = atomic_load_explicit(&me->next, memory_order_acquire)))
			__builtin_ia32_pause();
	}
	atomic_store_explicit(&next->wait, 0, memory_order_release);
}

#endif
