// SPDX-License-Identifier: MIT OR Apache-2.0
// The contended paths of a mutex.
// Flags of the owner word change under the wait lock alone. SLEEPERS: the list is not empty. HAND_OFF: the first of the
// list gets the lock from its holder; set only while it is held, so a lock with this flag is never free.
#include <corefold/cf_mutex.h>

#include "waiters.h"

enum { SLEEPERS = 1, HAND_OFF = 2, FLAGS = 7 };

// Takes it if nobody holds it; the flags stay.
static bool take(struct cf_mutex *m)
{
	uintptr_t owner = __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
	while (!(owner & ~(uintptr_t)FLAGS))
		// Acquire: after the last holder's release.
		if (__atomic_compare_exchange_n(&m->owner, &owner, owner | cf_self(), true, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

int cf_mutex_trylock_slow(struct cf_mutex *m)
{
	return take(m) ? 0 : -EBUSY;
}

static uintptr_t owner_of(struct cf_mutex *m)
{
	return __atomic_load_n(&m->owner, __ATOMIC_RELAXED) & ~(uintptr_t)FLAGS; // relaxed: whether it changes
}

// As the first of the spinners. False: the owner does not change, or others have always been quicker.
static bool spin_as_first(struct cf_mutex *m, const struct timespec *deadline)
{
	unsigned looks = 0, same = 0;
	uintptr_t owner = 0, now;
	for (; same < CF_LOCK_SPINS && looks < CF_OSQ_ROUNDS * CF_LOCK_SPINS; looks++, owner = now) {
		now = owner_of(m);
		if (!now && take(m))
			return true;
		same = now == owner ? same + 1 : 0;
		if (looks % CF_LOCK_SPINS == CF_LOCK_SPINS - 1 && cf_deadline_passed(deadline))
			break;
		cf_pause();
	}
	return false;
}

static bool spin(struct cf_mutex *m, const struct timespec *deadline)
{
	bool taken;
	if (!cf_osq_lock(&m->osq, &m->owner, deadline))
		return false;
	taken = spin_as_first(m, deadline);
	cf_osq_unlock(&m->osq);
	return taken;
}

// Under the wait lock, by one on the list. True: taken. False: its holder will see the flags when it unlocks.
static bool take_or_flag__(struct cf_mutex *m, uintptr_t flags)
{
	uintptr_t owner;
	do {
		if (take(m))
			return true;
		owner = __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
	// Relaxed: the flags alone; the holder finds the list under the wait lock. Free again: take it.
	} while (!(owner & ~(uintptr_t)FLAGS) ||
		 !__atomic_compare_exchange_n(&m->owner, &owner, owner | flags, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return false;
}

// Under the wait lock. A hand-off was for the first of the list.
static void leave__(struct cf_mutex *m, struct cf_waiter *me)
{
	uintptr_t flags = m->waiters.first == me ? HAND_OFF : 0;
	waiter_remove(&m->waiters, me);
	if (!m->waiters.first)
		flags |= SLEEPERS;
	__atomic_fetch_and(&m->owner, ~flags, __ATOMIC_RELAXED); // relaxed: the flags alone
}

static int sleep_for(struct cf_mutex *m, const struct timespec *deadline)
{
	struct cf_waiter me = { .self = cf_self() };
	bool woken_in_vain = false;
	int result = 0;
	cf_qspin_lock(&m->wait_lock);
	waiter_append(&m->waiters, &me);
	while (!take_or_flag__(m, SLEEPERS | (woken_in_vain && m->waiters.first == &me ? HAND_OFF : 0)) && !result) {
		waiter_will_sleep(&me);
		cf_qspin_unlock(&m->wait_lock);
		CF_TEST_POINT("mutex: sleeping");
		result = waiter_sleep(&me, deadline);
		CF_TEST_POINT("mutex: woken");
		cf_qspin_lock(&m->wait_lock);
		if (me.state == GRANTED) {
			cf_qspin_unlock(&m->wait_lock);
			return 0;
		}
		woken_in_vain = true;
	}
	leave__(m, &me);
	if (owner_of(m) == me.self)
		result = 0;
	cf_qspin_unlock(&m->wait_lock);
	return result;
}

int cf_mutex_lock_slow(struct cf_mutex *m, const struct timespec *deadline)
{
	if (owner_of(m) == cf_self())
		return -EDEADLK;
	return spin(m, deadline) ? 0 : sleep_for(m, deadline);
}

// Under the wait lock. Gives the lock to the first who sleeps.
static void grant__(struct cf_mutex *m, struct cf_waiter *first)
{
	waiter_remove(&m->waiters, first);
	// Release: this critical section before the next but one's acquire; the granted one acquires its state.
	__atomic_store_n(&m->owner, first->self | (m->waiters.first ? SLEEPERS : 0), __ATOMIC_RELEASE);
	waiter_tell(first, GRANTED);
}

void cf_mutex_unlock_slow(struct cf_mutex *m)
{
	uintptr_t owner = __atomic_load_n(&m->owner, __ATOMIC_RELAXED);
	struct cf_waiter *first;
	// Release: this critical section before the next holder's acquire.
	while (!(owner & HAND_OFF) && !__atomic_compare_exchange_n(&m->owner, &owner, owner & FLAGS, true,
								    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	CF_TEST_POINT("mutex: released");
	cf_qspin_lock(&m->wait_lock);
	first = m->waiters.first;
	if (first && (owner & HAND_OFF)) {
		grant__(m, first);
	} else {
		if (owner & HAND_OFF) // who asked for it has left, and nobody else sleeps
			__atomic_fetch_and(&m->owner, (uintptr_t)FLAGS, __ATOMIC_RELEASE); // release: as above
		if (first)
			waiter_tell(first, LOOKS);
	}
	cf_qspin_unlock(&m->wait_lock);
	if (first)
		cf_wake(&first->state);
}
