/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * waiters.h: the list of those who sleep for a lock, oldest first, under the lock's wait lock. A waiter lies on its
 * thread's stack. State and links change under the wait lock alone; the futex calls come after it was dropped.
 */
#ifndef KIT_SRC_WAITERS_H
#define KIT_SRC_WAITERS_H

#include <corefold/cf_qspin.h>

/* WAITS: is to sleep. LOOKS: woken to look again. GRANTED: has the lock, and is off the list. */
enum waiter_state { WAITS, LOOKS, GRANTED };

struct cf_waiter {
	struct cf_waiter *next, *prev; /* under the wait lock; `next` of those off the list: whom to wake after it */
	uint32_t state;                /* enum waiter_state: a futex word. Written by its owner and by who wakes it */
	bool is_writer;                /* constant */
	bool listed;                   /* under the wait lock */
	uintptr_t self;                /* cf_self() of its thread; constant */
	struct timespec hand_off;      /* from when on the lock must not pass it by; constant */
};

static inline void waiter_append(struct cf_wait_list *list, struct cf_waiter *waiter)
{
	waiter->listed = true;
	waiter->next = NULL;
	waiter->prev = list->last;
	if (list->last)
		list->last->next = waiter;
	else
		list->first = waiter;
	list->last = waiter;
}

static inline void waiter_remove(struct cf_wait_list *list, struct cf_waiter *waiter)
{
	waiter->listed = false;
	if (waiter->prev)
		waiter->prev->next = waiter->next;
	else
		list->first = waiter->next;
	if (waiter->next)
		waiter->next->prev = waiter->prev;
	else
		list->last = waiter->prev;
}

/* Before it drops the wait lock to sleep. */
static inline void waiter_will_sleep(struct cf_waiter *waiter)
{
	__atomic_store_n(&waiter->state, WAITS, __ATOMIC_RELAXED); /* relaxed: the wait lock orders, and own later loads */
}

/* Sleeps until it is to look again, or has the lock. 0 or -ETIMEDOUT. */
static inline int waiter_sleep(struct cf_waiter *waiter, const struct timespec *deadline)
{
	int result = 0;
	/* Acquire: pairs with the release in waiter_tell. */
	while (__atomic_load_n(&waiter->state, __ATOMIC_ACQUIRE) == WAITS && !result)
		result = cf_wait_on(&waiter->state, WAITS, deadline);
	return result;
}

/* From now on a waiter that was granted the lock may be gone: only its address may be used, to wake it. */
static inline void waiter_tell(struct cf_waiter *waiter, enum waiter_state state)
{
	/* Release: the grant, and what the lock's last holder did, before the waiter's acquire load. */
	__atomic_store_n(&waiter->state, state, __ATOMIC_RELEASE);
}

#endif
