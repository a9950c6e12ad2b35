// SPDX-License-Identifier: MIT OR Apache-2.0
// The contended paths of a reader-writer lock.
// A reader announces itself by READER in count before it knows whether it may go in; where it may not, it takes that back
// as it joins the list. So readers in count are those inside and those about to leave; no writer begins while there are any.
// Of those on the list, a reader is granted the lock by who wakes it; a writer is woken to look again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_rwsem.h>

#include "waiters.h"

enum { MOST_READERS_AT_ONCE = 256 };
#define HELD (CF_RWSEM_WRITER | CF_RWSEM_READERS)

static int64_t count_of(struct cf_rwsem *s)
{
	return __atomic_load_n(&s->count, __ATOMIC_RELAXED); // relaxed: whoever acts on it changes it, with its own order
}

static uintptr_t owner_of(struct cf_rwsem *s)
{
	return __atomic_load_n(&s->owner, __ATOMIC_RELAXED); // relaxed: a hint
}

static bool held_by_this_thread(struct cf_rwsem *s)
{
	return owner_of(s) == cf_self() && (count_of(s) & CF_RWSEM_WRITER);
}

// Whom to wake once the wait lock is dropped.
struct woken {
	struct cf_waiter *readers, *writer;
};

static void wake_all(struct woken *woken)
{
	struct cf_waiter *next;
	if (woken->writer)
		cf_wake(&woken->writer->state);
	for (struct cf_waiter *reader = woken->readers; reader; reader = next) {
		next = reader->next; // before it is told: then it may be gone
		waiter_tell(reader, GRANTED);
		cf_wake(&reader->state);
	}
}

// Takes the readers off the list, wherever they stand in it.
static int64_t collect_readers__(struct cf_rwsem *s, struct woken *woken)
{
	struct cf_waiter **last = &woken->readers, *next;
	int64_t readers = 0;
	for (struct cf_waiter *w = s->waiters.first; w && readers < MOST_READERS_AT_ONCE; w = next) {
		next = w->next;
		if (w->is_writer)
			continue;
		waiter_remove(&s->waiters, w);
		*last = w;
		last = &w->next;
		readers++;
	}
	*last = NULL;
	return readers;
}

// A reader of the list is first. `held`: the caller is a reader inside, so no writer is. Otherwise one reader is let in to see
// whether a writer has been quicker; if so, and the first has waited for long enough, that was the last one to pass it.
static void wake_readers__(struct cf_rwsem *s, bool held, struct woken *woken)
{
	int64_t readers, change = held ? 0 : CF_RWSEM_READER;
	// Acquire: after the last writer's release, for the readers that are let in.
	int64_t before = __atomic_fetch_add(&s->count, change, __ATOMIC_ACQUIRE);
	if (before & CF_RWSEM_WRITER) {
		if (!(before & CF_RWSEM_HAND_OFF) && cf_deadline_passed(&s->waiters.first->hand_off))
			change -= CF_RWSEM_HAND_OFF;
		__atomic_fetch_sub(&s->count, change, __ATOMIC_RELAXED); // relaxed: nothing was done in between
		return;
	}
	cf_rwsem_owned_by_reader_(s, s->waiters.first->self);
	readers = collect_readers__(s, woken);
	change = readers * CF_RWSEM_READER - change;
	if (!s->waiters.first)
		change -= CF_RWSEM_SLEEPERS;
	if (before & CF_RWSEM_HAND_OFF)
		change -= CF_RWSEM_HAND_OFF; // it was for the first
	__atomic_fetch_add(&s->count, change, __ATOMIC_RELAXED); // relaxed: waiter_tell releases to those it is for
}

enum whom { ANYBODY, READERS_ALONE, READERS_BESIDE_READERS };

// Under the wait lock.
static void wake__(struct cf_rwsem *s, enum whom whom, struct woken *woken)
{
	struct cf_waiter *first = s->waiters.first;
	if (!first)
		return;
	if (!first->is_writer) {
		wake_readers__(s, whom == READERS_BESIDE_READERS, woken);
	} else if (whom == ANYBODY) {
		waiter_tell(first, LOOKS);
		woken->writer = first;
	}
}

static void wake(struct cf_rwsem *s, enum whom whom)
{
	struct woken woken = { NULL, NULL };
	cf_qspin_lock(&s->wait_lock);
	wake__(s, whom, &woken);
	cf_qspin_unlock(&s->wait_lock);
	wake_all(&woken);
}

void cf_rwsem_wake(struct cf_rwsem *s)
{
	CF_TEST_POINT("rwsem: waking");
	wake(s, ANYBODY);
}

void cf_rwsem_wake_readers(struct cf_rwsem *s)
{
	wake(s, READERS_BESIDE_READERS);
}

static void set_hand_off_time(struct cf_waiter *waiter)
{
	clock_gettime(CLOCK_MONOTONIC, &waiter->hand_off);
	waiter->hand_off.tv_nsec += CF_RWSEM_HAND_OFF_NS % 1000000000;
	waiter->hand_off.tv_sec += CF_RWSEM_HAND_OFF_NS / 1000000000 + waiter->hand_off.tv_nsec / 1000000000;
	waiter->hand_off.tv_nsec %= 1000000000;
}

// Under the wait lock, by one whose deadline has passed: those behind must not wait for it.
static void leave__(struct cf_rwsem *s, struct cf_waiter *me, struct woken *woken)
{
	bool was_first = s->waiters.first == me;
	waiter_remove(&s->waiters, me);
	if (!s->waiters.first)
		__atomic_fetch_and(&s->count, ~(CF_RWSEM_SLEEPERS | CF_RWSEM_HAND_OFF), __ATOMIC_RELAXED); // flags alone
	else if (was_first)
		wake__(s, ANYBODY, woken);
}

static int leave_after_deadline(struct cf_rwsem *s, struct cf_waiter *me)
{
	struct woken woken = { NULL, NULL };
	leave__(s, me, &woken);
	cf_qspin_unlock(&s->wait_lock);
	wake_all(&woken);
	return -ETIMEDOUT;
}

// Until it is granted, which may be on its way when the deadline passes.
static int sleep_as_reader(struct cf_rwsem *s, struct cf_waiter *me, const struct timespec *deadline)
{
	if (waiter_sleep(me, deadline) == 0)
		return 0;
	CF_TEST_POINT("rwsem: reader's deadline");
	cf_qspin_lock(&s->wait_lock);
	if (me->listed)
		return leave_after_deadline(s, me);
	cf_qspin_unlock(&s->wait_lock);
	return waiter_sleep(me, NULL);
}

// A reader that announced itself and finds no writer goes in, though others sleep, unless readers are inside already: or a
// stream of them would keep writers out.
static bool reader_passes(struct cf_rwsem *s, int64_t count)
{
	uintptr_t owner = owner_of(s);
	if (count & (CF_RWSEM_WRITER | CF_RWSEM_HAND_OFF))
		return false;
	return !(owner & CF_RWSEM_OWNED_BY_READERS) || (count & CF_RWSEM_READERS) == CF_RWSEM_READER;
}

int cf_rwsem_read_lock_slow(struct cf_rwsem *s, int64_t count, const struct timespec *deadline)
{
	struct cf_waiter me = { .self = cf_self() };
	struct woken woken = { NULL, NULL };
	int64_t change = -CF_RWSEM_READER;
	if (held_by_this_thread(s)) {
		cf_rwsem_read_unlock(s);
		return -EDEADLK;
	}
	if (reader_passes(s, count)) {
		cf_rwsem_owned_by_reader_(s, me.self);
		if ((count & CF_RWSEM_SLEEPERS) && (count & CF_RWSEM_READERS) == CF_RWSEM_READER)
			wake(s, READERS_BESIDE_READERS); // other readers go in together with the first
		return 0;
	}
	set_hand_off_time(&me);
	CF_TEST_POINT("rwsem: reader will wait");
	cf_qspin_lock(&s->wait_lock);
	if (!s->waiters.first) {
		// Acquire: after the writer that has just left.
		if (!(__atomic_load_n(&s->count, __ATOMIC_ACQUIRE) & CF_RWSEM_WRITER)) {
			cf_qspin_unlock(&s->wait_lock); // it is announced
			cf_rwsem_owned_by_reader_(s, me.self);
			return 0;
		}
		change += CF_RWSEM_SLEEPERS;
	}
	waiter_append(&s->waiters, &me);
	// Relaxed: the flag alone; whoever unlocks from now on finds the list under the wait lock.
	count = __atomic_add_fetch(&s->count, change, __ATOMIC_RELAXED);
	// Who had it may have left while the flag was not set, and readers that take back may have been the last in count.
	if (!(count & CF_RWSEM_WRITER))
		wake__(s, count & CF_RWSEM_READERS ? READERS_ALONE : ANYBODY, &woken);
	cf_qspin_unlock(&s->wait_lock);
	wake_all(&woken);
	return sleep_as_reader(s, &me, deadline);
}

// Under the wait lock, by a writer on the list. While it is held, the first to have waited for long enough asks for it.
static bool write_lock__(struct cf_rwsem *s, struct cf_waiter *me)
{
	const int64_t alone = s->waiters.first == me && s->waiters.last == me ? CF_RWSEM_SLEEPERS : 0;
	int64_t count = count_of(s), next;
	do {
		if ((count & CF_RWSEM_HAND_OFF) && s->waiters.first != me)
			return false;
		if (!(count & HELD))
			next = (count & ~(CF_RWSEM_HAND_OFF | alone)) | CF_RWSEM_WRITER;
		else if ((count & CF_RWSEM_HAND_OFF) || s->waiters.first != me || !cf_deadline_passed(&me->hand_off))
			return false;
		else
			next = count | CF_RWSEM_HAND_OFF;
	// Acquire: after the release of the last writer, and of all readers.
	} while (!__atomic_compare_exchange_n(&s->count, &count, next, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	if (count & HELD)
		return false;
	waiter_remove(&s->waiters, me);
	__atomic_store_n(&s->owner, me->self, __ATOMIC_RELAXED); // relaxed: a hint
	return true;
}

// Under the wait lock. A writer that joins may be the first to see that the lock is free.
static void join_as_writer__(struct cf_rwsem *s, struct cf_waiter *me, struct woken *woken)
{
	bool is_first = !s->waiters.first;
	int64_t count;
	waiter_append(&s->waiters, me);
	if (is_first) {
		__atomic_fetch_or(&s->count, CF_RWSEM_SLEEPERS, __ATOMIC_RELAXED); // relaxed: the flag alone
		return;
	}
	count = count_of(s);
	if (!(count & CF_RWSEM_WRITER))
		wake__(s, count & CF_RWSEM_READERS ? READERS_ALONE : ANYBODY, woken);
}

static int sleep_as_writer(struct cf_rwsem *s, const struct timespec *deadline)
{
	struct cf_waiter me = { .self = cf_self(), .is_writer = true };
	struct woken woken = { NULL, NULL };
	int result = 0;
	set_hand_off_time(&me);
	cf_qspin_lock(&s->wait_lock);
	join_as_writer__(s, &me, &woken);
	while (!write_lock__(s, &me)) {
		if (result)
			return leave_after_deadline(s, &me);
		waiter_will_sleep(&me);
		cf_qspin_unlock(&s->wait_lock);
		wake_all(&woken);
		woken = (struct woken){ NULL, NULL };
		CF_TEST_POINT("rwsem: sleeping");
		result = waiter_sleep(&me, deadline);
		CF_TEST_POINT("rwsem: woken");
		cf_qspin_lock(&s->wait_lock);
	}
	cf_qspin_unlock(&s->wait_lock);
	wake_all(&woken);
	return 0;
}

static bool write_lock_as_spinner(struct cf_rwsem *s)
{
	int64_t count = count_of(s);
	while (!(count & (HELD | CF_RWSEM_HAND_OFF)))
		// Acquire: as in write_lock__.
		if (__atomic_compare_exchange_n(&s->count, &count, count | CF_RWSEM_WRITER, true, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			__atomic_store_n(&s->owner, cf_self(), __ATOMIC_RELAXED); // relaxed: a hint
			return true;
		}
	return false;
}

// Readers have had it for as long as a spinner waits: the others need not try.
static void forbid_spinning(struct cf_rwsem *s)
{
	uintptr_t owner = owner_of(s);
	while ((owner & CF_RWSEM_OWNED_BY_READERS) && !(owner & CF_RWSEM_NONSPINNABLE) &&
	       !__atomic_compare_exchange_n(&s->owner, &owner, owner | CF_RWSEM_NONSPINNABLE, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED)) // relaxed: a hint
		;
}

// As the first of the spinners. False: the owner does not change, readers keep it, or others have always been quicker.
static bool spin_as_first(struct cf_rwsem *s, const struct timespec *deadline)
{
	unsigned looks = 0, same = 0, before_readers = 0;
	uintptr_t owner = 0, now;
	for (; same < CF_LOCK_SPINS && looks < CF_OSQ_ROUNDS * CF_LOCK_SPINS; looks++, owner = now) {
		now = owner_of(s);
		if (now & CF_RWSEM_NONSPINNABLE)
			return false;
		if (write_lock_as_spinner(s))
			return true;
		same = now == owner ? same + 1 : 0;
		before_readers += now & CF_RWSEM_OWNED_BY_READERS;
		if (before_readers > CF_LOCK_SPINS)
			break;
		if (looks % CF_LOCK_SPINS == CF_LOCK_SPINS - 1 && cf_deadline_passed(deadline))
			break;
		cf_pause();
	}
	forbid_spinning(s);
	return false;
}

static bool spin(struct cf_rwsem *s, const struct timespec *deadline)
{
	bool taken;
	if ((owner_of(s) & CF_RWSEM_NONSPINNABLE) || !cf_osq_lock(&s->osq, &s->owner, deadline))
		return false;
	taken = spin_as_first(s, deadline);
	cf_osq_unlock(&s->osq);
	return taken;
}

int cf_rwsem_write_lock_slow(struct cf_rwsem *s, const struct timespec *deadline)
{
	if (held_by_this_thread(s))
		return -EDEADLK;
	return spin(s, deadline) ? 0 : sleep_as_writer(s, deadline);
}
