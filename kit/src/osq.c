// SPDX-License-Identifier: MIT OR Apache-2.0
// A queue of spinning threads that any of them can leave. Each member knows the one ahead (prev); the one behind has told
// each of itself (next). Who leaves first takes the link to itself back from the one ahead, which from then on can neither
// hand over nor leave; then takes the link to the one behind, which from then on cannot leave; and joins the two.
#include <corefold/cf_osq.h>

#include "nodes.h"

// Whether the wait was in vain: nothing has moved for long enough. The owner may by chance be the same at two looks of a lock
// that moves, since who unlocks often comes again first; and one member that leaves for nothing sleeps, and slows all.
static bool waits_in_vain(struct node *node, const uintptr_t *progress, const struct timespec *deadline)
{
	uintptr_t before = 0, now;
	unsigned same = 0;
	for (unsigned round = 0; round < CF_OSQ_ROUNDS; round++, before = now) {
		// Acquire: after the release of who was first before, in hand_over.
		for (unsigned looks = 0; looks < CF_LOCK_SPINS; looks++, cf_pause())
			if (!__atomic_load_n(&node->waiting, __ATOMIC_ACQUIRE))
				return false;
		now = progress ? __atomic_load_n(progress, __ATOMIC_RELAXED) : 0; // relaxed: whether it changes
		same = now == before && (now || !progress) ? same + 1 : 0; // nobody's: it is being taken
		if (same == CF_OSQ_SAME || cf_deadline_passed(deadline))
			break;
	}
	return true;
}

static void hand_over(uint32_t next)
{
	__atomic_store_n(&node_at(next)->waiting, 0, __ATOMIC_RELEASE); // pairs with the acquire loads of waiting
}

enum leaving { STAYS, IS_FIRST, UNLINKED };

// One try to take back the link from the one ahead. It fails while that one has not linked itself, is leaving, or hands
// over: then this thread is told of another one ahead, or is first.
static enum leaving unlink_from_ahead(uint32_t mine, struct node *node, uint32_t *ahead)
{
	uint32_t expected = mine;
	*ahead = __atomic_load_n(&node->prev, __ATOMIC_RELAXED); // relaxed: nodes stay; the compare-and-swap decides
	// Relaxed: it takes away what this thread has written itself.
	if (__atomic_compare_exchange_n(&node_at(*ahead)->next, &expected, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return UNLINKED;
	return __atomic_load_n(&node->waiting, __ATOMIC_ACQUIRE) ? STAYS : IS_FIRST; // acquire: as in waits_in_vain
}

// One try to take the link to the one behind, or to make `ahead` the last where there is nobody behind. False: somebody
// behind has not linked itself yet, or is leaving.
static bool unlink_behind(struct cf_osq *queue, uint32_t mine, struct node *node, uint32_t ahead, uint32_t *behind)
{
	uint32_t expected = mine;
	*behind = 0;
	// Release: what this thread did as first before who finds the queue empty next.
	if (__atomic_load_n(&queue->tail, __ATOMIC_RELAXED) == mine &&
	    __atomic_compare_exchange_n(&queue->tail, &expected, ahead, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	if (!__atomic_load_n(&node->next, __ATOMIC_RELAXED))
		return false;
	// Acquire: pairs with the release stores of next. The one behind may take its link back first.
	*behind = __atomic_exchange_n(&node->next, 0, __ATOMIC_ACQUIRE);
	return *behind != 0;
}

// False: it has become the first meanwhile.
static bool leave(struct cf_osq *queue, uint32_t mine, struct node *node)
{
	enum leaving step;
	uint32_t ahead, behind;
	CF_TEST_POINT("osq: leaving");
	CF_LOCK_WAIT_UNTIL((step = unlink_from_ahead(mine, node, &ahead)) != STAYS);
	if (step == IS_FIRST)
		return false;
	CF_TEST_POINT("osq: unlinked from ahead");
	CF_LOCK_WAIT_UNTIL(unlink_behind(queue, mine, node, ahead, &behind));
	CF_TEST_POINT("osq: unlinked from behind");
	if (behind) {
		// Relaxed: read by its owner alone, which tries again until both links agree.
		__atomic_store_n(&node_at(behind)->prev, ahead, __ATOMIC_RELAXED);
		// Release: the fields of the one behind, which this thread has acquired, before its number.
		__atomic_store_n(&node_at(ahead)->next, behind, __ATOMIC_RELEASE);
	}
	return true;
}

bool cf_osq_lock(struct cf_osq *queue, const uintptr_t *progress, const struct timespec *deadline)
{
	uint32_t mine = node_take(), before;
	struct node *node;
	if (!mine)
		return false;
	node = node_at(mine);
	__atomic_store_n(&node->next, 0, __ATOMIC_RELAXED);    // relaxed: published by the exchange
	__atomic_store_n(&node->waiting, 1, __ATOMIC_RELAXED); // the same
	// Acquire: after the unlock that left 0. Release: the node's fields before its number.
	before = __atomic_exchange_n(&queue->tail, mine, __ATOMIC_ACQ_REL);
	if (!before)
		return true;
	__atomic_store_n(&node->prev, before, __ATOMIC_RELAXED); // relaxed: published by the link
	CF_TEST_POINT("osq: linking");
	// Release: pairs with the acquire exchange of next.
	// x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	__atomic_store_n(&node_at(before)->next, mine, __ATOMIC_RELEASE);
	if (!waits_in_vain(node, progress, deadline) || !leave(queue, mine, node))
		return true;
	node_drop();
	return false;
}

void cf_osq_unlock(struct cf_osq *queue)
{
	uint32_t mine = node_last(), behind;
	// The first one leaves towards nobody ahead.
	CF_LOCK_WAIT_UNTIL(unlink_behind(queue, mine, node_at(mine), 0, &behind));
	if (behind)
		hand_over(behind);
	node_drop();
}
