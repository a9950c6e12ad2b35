/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lock_kinds.h: every lock of the kit behind one interface, for the bodies that validate all of them (lock_bodies.h). A new
 * lock is one more entry here.
 */
#ifndef KIT_TESTS_LOCK_KINDS_H
#define KIT_TESTS_LOCK_KINDS_H

#include <corefold/cf_brlock.h>
#include <corefold/cf_lock.h>
#include <corefold/cf_mutex.h>
#include <corefold/cf_rwsem.h>
#include <corefold/cf_seqlock.h>
#include <string.h>

union any_lock {
	struct cf_lock lock;
	struct cf_mcs mcs;
	struct cf_qspin qspin;
	struct cf_osq osq;
	struct cf_mutex mutex;
	struct cf_rwsem rwsem;
	struct cf_brlock brlock;
	struct cf_seqlock seqlock;
};

/* What one holder keeps from lock to unlock. */
union held {
	struct cf_lock_node lock;
	struct cf_mcs_node mcs;
	int token;
	uint32_t sequence;
};

/*
 * Null: the lock has no such operation. Results: 0, or negative: not locked. `bound`: when nobody is held up, how many others get
 * it between one's call and its own turn, for each thread, the time to get into line included; 0: not limited by a count.
 */
struct lock_kind {
	const char *name;
	int bound;
	int (*init)(union any_lock *);
	void (*destroy)(union any_lock *);
	int (*lock)(union any_lock *, union held *, const struct timespec *deadline);
	int (*try_lock)(union any_lock *, union held *);
	void (*unlock)(union any_lock *, union held *);
	int (*read)(union any_lock *, union held *, const struct timespec *deadline);
	int (*try_read)(union any_lock *, union held *);
	void (*read_unlock)(union any_lock *, union held *);
	void (*downgrade)(union any_lock *, union held *);
	bool timed;
	bool optimistic; /* readers read first and ask afterwards: (read, try_read null) seqlock */
};

#define BEGIN_(kind) static int kind##_init(union any_lock *l) { memset(l, 0, sizeof *l); return 0; }
/* The parts of an entry: expressions on l (the lock), h (what is kept) and deadline. */
#define LOCK_BY(kind, expression)                                                                                      \
	static int kind##_lock(union any_lock *l, union held *h, const struct timespec *deadline)                      \
	{                                                                                                              \
		(void)h, (void)deadline;                                                                               \
		return expression;                                                                                     \
	}
#define TRY_BY(kind, expression)                                                                                       \
	static int kind##_try(union any_lock *l, union held *h)                                                        \
	{                                                                                                              \
		(void)h;                                                                                               \
		return expression;                                                                                     \
	}
#define UNLOCK_BY(kind, expression)                                                                                    \
	static void kind##_unlock(union any_lock *l, union held *h)                                                    \
	{                                                                                                              \
		(void)h;                                                                                               \
		expression;                                                                                            \
	}
#define EXCLUSIVE(kind, take, try_take, drop) BEGIN_(kind) LOCK_BY(kind, take) TRY_BY(kind, try_take) UNLOCK_BY(kind, drop)
#define SHARED(kind, take, try_take, drop) LOCK_BY(kind##_read, take) TRY_BY(kind##_read, try_take) UNLOCK_BY(kind##_read, drop)

BEGIN_(queued)
LOCK_BY(queued, (cf_lock_take(&l->lock, &h->lock), 0))
UNLOCK_BY(queued, cf_lock_drop(&l->lock, &h->lock))
LOCK_BY(ticket, (cf_lock_take(&l->lock, &h->lock), 0))
static int ticket_init(union any_lock *l)
{
	cf_lock_init(&l->lock, CF_LOCK_TICKET);
	return 0;
}
EXCLUSIVE(mcs, (cf_mcs_lock(&l->mcs, &h->mcs), 0), cf_mcs_trylock(&l->mcs, &h->mcs) ? 0 : -EBUSY, cf_mcs_unlock(&l->mcs, &h->mcs))
EXCLUSIVE(qspin, (cf_qspin_lock(&l->qspin), 0), cf_qspin_trylock(&l->qspin) ? 0 : -EBUSY, cf_qspin_unlock(&l->qspin))
/* As a lock: who must leave the queue comes again, after a time of its own, or all would leave and come in step. */
static int osq_until(struct cf_osq *queue)
{
	uint32_t random = (uint32_t)(cf_self() >> 6);
	while (!cf_osq_lock(queue, NULL, NULL)) {
		random = random * 1664525 + 1013904223;
		for (volatile uint32_t i = 0; i < random >> 24; i = i + 1)
			;
		sched_yield();
	}
	return 0;
}
EXCLUSIVE(osq, osq_until(&l->osq), cf_osq_lock(&l->osq, NULL, NULL) ? 0 : -EBUSY, cf_osq_unlock(&l->osq))
EXCLUSIVE(mutex, cf_mutex_timedlock(&l->mutex, deadline), cf_mutex_trylock(&l->mutex), cf_mutex_unlock(&l->mutex))
EXCLUSIVE(rwsem, cf_rwsem_write_timedlock(&l->rwsem, deadline), cf_rwsem_write_trylock(&l->rwsem), cf_rwsem_write_unlock(&l->rwsem))
SHARED(rwsem, cf_rwsem_read_timedlock(&l->rwsem, deadline), cf_rwsem_read_trylock(&l->rwsem), cf_rwsem_read_unlock(&l->rwsem))
static void rwsem_downgrade(union any_lock *l, union held *h)
{
	(void)h;
	cf_rwsem_downgrade(&l->rwsem);
}
LOCK_BY(brlock, (cf_brlock_write_lock(&l->brlock), 0))
UNLOCK_BY(brlock, cf_brlock_write_unlock(&l->brlock))
SHARED(brlock, (h->token = cf_brlock_read_lock(&l->brlock)) < 0, h->token = cf_brlock_read_trylock(&l->brlock), cf_brlock_read_unlock(&l->brlock, h->token))
static int brlock_init(union any_lock *l)
{
	return cf_brlock_init(&l->brlock);
}
static void brlock_destroy(union any_lock *l)
{
	cf_brlock_destroy(&l->brlock);
}
BEGIN_(seqlock)
LOCK_BY(seqlock, (cf_seqlock_write_lock(&l->seqlock), 0))
UNLOCK_BY(seqlock, cf_seqlock_write_unlock(&l->seqlock))
LOCK_BY(seqlock_read, (h->sequence = cf_seqlock_read_begin(&l->seqlock), 0))
TRY_BY(seqlock_again, cf_seqlock_read_retry(&l->seqlock, h->sequence) ? -EAGAIN : 0)

static const struct lock_kind lock_kinds[] = {
	{ .name = "queued", .bound = 2, .init = queued_init, .lock = queued_lock, .unlock = queued_unlock },
	{ .name = "ticket", .bound = 2, .init = ticket_init, .lock = ticket_lock, .unlock = queued_unlock },
	{ .name = "mcs", .bound = 2, .init = mcs_init, .lock = mcs_lock, .try_lock = mcs_try, .unlock = mcs_unlock },
	{ .name = "qspin", .bound = 4, .init = qspin_init, .lock = qspin_lock, .try_lock = qspin_try, .unlock = qspin_unlock },
	{ .name = "osq", .init = osq_init, .lock = osq_lock, .try_lock = osq_try, .unlock = osq_unlock },
	{ .name = "mutex", .init = mutex_init, .lock = mutex_lock, .try_lock = mutex_try, .unlock = mutex_unlock, .timed = true },
	{ .name = "rwsem", .init = rwsem_init, .lock = rwsem_lock, .try_lock = rwsem_try, .unlock = rwsem_unlock, .timed = true,
	  .read = rwsem_read_lock, .try_read = rwsem_read_try, .read_unlock = rwsem_read_unlock, .downgrade = rwsem_downgrade },
	{ .name = "brlock", .bound = 3, .init = brlock_init, .destroy = brlock_destroy, .lock = brlock_lock, .unlock = brlock_unlock,
	  .read = brlock_read_lock, .try_read = brlock_read_try, .read_unlock = brlock_read_unlock },
	{ .name = "seqlock", .bound = 4, .init = seqlock_init, .lock = seqlock_lock, .unlock = seqlock_unlock,
	  .read = seqlock_read_lock, .try_read = seqlock_again_try, .optimistic = true },
};

enum { LOCK_KINDS = sizeof lock_kinds / sizeof *lock_kinds };

static inline const struct lock_kind *lock_kind_of(const char *name)
{
	for (int i = 0; i < LOCK_KINDS; i++)
		if (!strcmp(lock_kinds[i].name, name))
			return &lock_kinds[i];
	return NULL;
}

#endif
