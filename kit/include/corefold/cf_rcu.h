/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_rcu.h: read-copy-update; the only header that includes liburcu.
 *
 * Choose it over a lock where readers must not write to shared memory. Choose the flavour at build time: CF_RCU_BP
 * registers threads automatically (for threads that are not yours); without it ("memb") each reading thread calls
 * cf_rcu_register_thread() first. All units of a program and the library must be built the same way.
 *
 * Cost: a read section is two stores to the thread's own line and a load of the grace period's line. cf_rcu_call takes one
 * uncontended lock on a line of this CPU; every CF_RCU_BATCH-th call also reads words written by the grace-period thread, of
 * which a process has one. Callbacks run on the CPU that queued them, in cf_rcu_relax, so that what they free is still cached
 * there; callbacks that nobody has run after a millisecond are run by the grace-period thread. Objects that wait for a grace
 * period are at most CF_RCU_BATCH per CPU in incomplete batches, and CF_RCU_BACKLOG in all (or 8 batches per CPU, if that is
 * more), provided that callers call cf_rcu_relax where they may wait.
 *
 *   operation                  may overlap                                     progress
 *   read_lock, read_unlock     everything; sections nest                       wait-free
 *   call                       everything, read sections and locks held too    blocks on this CPU's batch
 *   relax                      not in a read section, no lock held that a      waits for a grace period if this CPU has
 *                              reader may wait for                             more than its share of CF_RCU_BACKLOG
 *   synchronize, barrier       as relax                                        waits for a grace period
 *   dereference, assign        everything                                      wait-free
 *
 * Ordering:
 *   1. What was stored before cf_rcu_assign(p, x) is seen through cf_rcu_dereference(p).
 *   2. A callback runs only after every read section that began before its cf_rcu_call has ended; what these sections did
 *      happens before the callback.
 *   3. cf_rcu_barrier returns when every callback of an earlier cf_rcu_call has run.
 *
 * After fork(2) the child has no grace-period thread, and what other threads held, the kit's and liburcu's own among them, stays
 * held: there only read sections, dereference and exec are safe. So it is with all that is built on this header.
 *
 * Lifetime: a head lives in the object, from cf_rcu_call to its callback. A callback must not wait for a grace period; it runs
 * on any thread that calls relax or barrier, without locks and outside of read sections, or on the kit's or liburcu's own.
 *
 * Five lines:
 *   cf_rcu_read_lock();
 *   struct thing *t = cf_rcu_dereference(current_thing);
 *   use(t->value);
 *   cf_rcu_read_unlock();
 *   ... cf_rcu_assign(current_thing, fresh); cf_rcu_call(&old->rcu, free_thing); cf_rcu_relax();
 *
 * Source: liburcu (urcu-memb, urcu-bp) for readers and grace periods. Callbacks by CPU are ours, after Linux's rcu_segcblist:
 * liburcu's own worker pauses for 10 ms between grace periods, and frees all on one CPU. cf_rcu_call_soon uses it.
 */
#ifndef COREFOLD_CF_RCU_H
#define COREFOLD_CF_RCU_H

#include <corefold/cf_shim.h>
#ifdef CF_RCU_BP
#include <urcu/urcu-bp.h>
#define CF_RCU_FLAVOUR(name) urcu_bp_##name
#else
#include <urcu/urcu-memb.h>
#define CF_RCU_FLAVOUR(name) urcu_memb_##name
#endif

CF_EXTERN_BEGIN

#ifndef CF_RCU_BATCH
#define CF_RCU_BATCH 64
#endif
#ifndef CF_RCU_BACKLOG
#define CF_RCU_BACKLOG 16384
#endif

struct cf_rcu_head {
	struct cf_rcu_head *next;
	void (*callback)(struct cf_rcu_head *head);
};

/* ThreadSanitizer does not see into liburcu: these say which sections come before which callbacks. */
#if CF_BUILT_SANITISED
void cf_rcu_sanitised_unlock(void);
#else
static inline void cf_rcu_sanitised_unlock(void)
{
}
#endif

static inline void cf_rcu_read_lock(void)
{
	CF_RCU_FLAVOUR(read_lock)();
}

static inline void cf_rcu_read_unlock(void)
{
	cf_rcu_sanitised_unlock();
	CF_RCU_FLAVOUR(read_unlock)();
}

static inline int cf_rcu_read_ongoing(void)
{
	return CF_RCU_FLAVOUR(read_ongoing)();
}

static inline void cf_rcu_register_thread(void)
{
	CF_RCU_FLAVOUR(register_thread)();
}

static inline void cf_rcu_unregister_thread(void)
{
	CF_RCU_FLAVOUR(unregister_thread)();
}

/* Pairs: the reader's acquire load after the writer's release store; what the pointer leads to comes with it. x86 cannot tell, its
 * loads and stores stay in order; aarch64 and POWER can. */
#define cf_rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define cf_rcu_assign(p, value) __atomic_store_n(&(p), (value), __ATOMIC_RELEASE)

void cf_rcu_call(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head));
/* The same, without waiting for the batch to fill. */
void cf_rcu_call_soon(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head));
void cf_rcu_relax(void);
void cf_rcu_barrier(void);
void cf_rcu_synchronize(void);

CF_EXTERN_END

#endif
