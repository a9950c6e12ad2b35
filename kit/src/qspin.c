// SPDX-License-Identifier: MIT OR Apache-2.0
// The line of a queued lock of 4 bytes.
#include <corefold/cf_qspin.h>

#include "nodes.h"

enum { HELD = 0xff, TAIL_SHIFT = 16 };

static void poll(struct cf_qspin *lock)
{
	CF_LOCK_WAIT_UNTIL(cf_qspin_trylock(lock));
}

// Returns who was last in line before. One exchange: a loop that compares could fail again and again while others join the
// line and holders leave, and those others would pass.
static uint32_t become_last(struct cf_qspin *lock, uint32_t mine)
{
	// Release: the node's fields before its number. Acquire: the fields of the node before, to which this one links
	// itself. x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	return __atomic_exchange_n(&lock->u.part.tail, (uint16_t)mine, __ATOMIC_ACQ_REL);
}

// The first in line takes the lock; nobody else can while the tail is not 0. Returns whether it was the last, too.
static bool take_as_first(struct cf_qspin *lock, uint32_t mine)
{
	uint32_t word;
	// Acquire: after the last holder's release in cf_qspin_unlock.
	CF_LOCK_WAIT_UNTIL(!((word = __atomic_load_n(&lock->u.word, __ATOMIC_ACQUIRE)) & HELD));
	// Relaxed: the load above has acquired.
	if (word == mine << TAIL_SHIFT &&
	    __atomic_compare_exchange_n(&lock->u.word, &word, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return true;
	__atomic_fetch_or(&lock->u.word, 1, __ATOMIC_RELAXED);
	return false;
}

void cf_qspin_lock_slow(struct cf_qspin *lock)
{
	uint32_t mine = node_take(), before, behind;
	struct node *node;
	if (!mine || mine > UINT16_MAX) {
		poll(lock);
		if (mine)
			node_drop();
		return;
	}
	node = node_at(mine);
	__atomic_store_n(&node->next, 0, __ATOMIC_RELAXED);    // relaxed: published by become_last
	__atomic_store_n(&node->waiting, 1, __ATOMIC_RELAXED); // the same
	before = become_last(lock, mine);
	if (before) {
		// Release: pairs with the acquire load of next below; this node's fields before its number.
		// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
		__atomic_store_n(&node_at(before)->next, mine, __ATOMIC_RELEASE);
		cf_lock_wait_turn(&node->waiting);
	}
	if (!take_as_first(lock, mine)) {
		// Acquire: pairs with the release store of next above.
		// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
		CF_LOCK_WAIT_UNTIL((behind = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) != 0);
		cf_lock_hand_over(&node_at(behind)->waiting);
	}
	node_drop();
}
