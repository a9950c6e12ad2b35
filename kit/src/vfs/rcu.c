// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Callbacks wait on the CPU that queued them, and run there, so that what they free is used again where it is cached.
 *   filling   not closed yet: up to CF_RCU_BATCH
 *   wait      for grace period `wait_for`
 *   next      for `next_for`, a later one; what is closed meanwhile joins it
 * One thread drives grace periods and counts them: it stores the number of one before it begins, and when it has ended. What
 * was closed when `begun` said n may run when `ended` says n + 1: that one began afterwards. A CPU looks at `ended` once for each
 * batch that it closes; the driver runs what CPUs leave.
 */
#include "rcu.h"
#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>

#include <pthread.h>
#include <stdlib.h>

// With so many waiting on a CPU the next grace period begins at once.
enum { URGENT = 4 * CF_RCU_BATCH };

struct list {
	struct cf_rcu_head *first, *last;
	uint32_t count;
};

struct batch {
	uint32_t locked;
	uint32_t closed;  // since the last relax on this CPU
	uint32_t running; // threads that run callbacks of this CPU's; atomic
	uint64_t wait_for, next_for;
	struct list filling, wait, next;
} CF_LINE_ALIGNED;

// What is handed to liburcu's own worker, without waiting for a batch.
struct parcel {
	struct rcu_head head;
	struct cf_rcu_head *callbacks;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct batch spare;
// Constant.
static struct {
	struct batch *batches;
	uint32_t count, most; // CPUs; objects that may wait on one
} all CF_LINE_ALIGNED;

#if CF_BUILT_SANITISED
// Sections that have ended, and callbacks that have run.
char cf_rcu_ended_sections;
static char ended_callbacks;

void cf_rcu_sanitised_unlock(void)
{
	SANITISED_RELEASE(&cf_rcu_ended_sections);
}
#endif

// --- Lists of callbacks. The batch is locked.

static void append(struct list *to, const struct list *more)
{
	if (!more->first)
		return;
	if (to->first)
		to->last->next = more->first;
	else
		to->first = more->first;
	to->last = more->last;
	to->count += more->count;
}

static struct list take(struct list *from)
{
	struct list taken = *from;
	*from = (struct list){ NULL, NULL, 0 };
	return taken;
}

static struct batch *lock_batch(uint32_t cpu)
{
	struct batch *batch = &all.batches[cpu % all.count];
	// Acquire: after the last holder's release in unlock_batch.
	CF_LOCK_WAIT_UNTIL(!__atomic_exchange_n(&batch->locked, 1, __ATOMIC_ACQUIRE));
	return batch;
}

static void unlock_batch(struct batch *batch)
{
	__atomic_store_n(&batch->locked, 0, __ATOMIC_RELEASE); // release: the batch before its next holder
}

// What was done before the callbacks were queued comes before the look at `begun`; its partner is the driver, which counts in
// `begun` before it looks at readers. x86 cannot tell, the exchange that took the lock is a full fence there; aarch64 and POWER can.
static void fence_before_begun(void)
{
#if !defined(__x86_64__)
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

// The batch waits from now on, for a grace period that begins later. Returns which one.
static uint64_t close__(struct batch *batch)
{
	fence_before_begun();
	uint64_t number = __atomic_load_n(&cf_rcu_periods.begun, __ATOMIC_SEQ_CST) + 1;
	struct list closed = take(&batch->filling);
	if (!batch->wait.first) {
		batch->wait = closed;
		batch->wait_for = number;
	} else {
		append(&batch->next, &closed);
		batch->next_for = number; // all of it waits for the last
	}
	__atomic_store_n(&batch->closed, 1, __ATOMIC_RELAXED); // relaxed: a hint
	return number;
}

// Whoever takes callbacks runs them: cf_rcu_barrier waits for that. Relaxed: the lock orders.
static struct list hold__(struct batch *batch, struct list taken)
{
	__atomic_fetch_add(&batch->running, taken.first != NULL, __ATOMIC_RELAXED);
	return taken;
}

static struct list take_ripe__(struct batch *batch)
{
	// Acquire: after the grace period. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
	uint64_t ended = __atomic_load_n(&cf_rcu_periods.ended, __ATOMIC_ACQUIRE);
	struct list ripe = { NULL, NULL, 0 }, part;
	while (batch->wait.first && batch->wait_for <= ended) {
		part = take(&batch->wait);
		append(&ripe, &part);
		batch->wait = take(&batch->next);
		batch->wait_for = batch->next_for;
	}
	return hold__(batch, ripe);
}

static struct list take_all__(struct batch *batch)
{
	struct list taken = take(&batch->wait), part = take(&batch->next);
	append(&taken, &part);
	return hold__(batch, taken);
}

static void run(struct batch *batch, struct list taken)
{
	if (!taken.first)
		return;
	SANITISED_ACQUIRE(&cf_rcu_ended_sections);
	taken.last->next = NULL;
	for (struct cf_rcu_head *head = taken.first, *next; head; head = next) {
		next = head->next;
		head->callback(head);
	}
	SANITISED_RELEASE(&ended_callbacks);
	// Release: for cf_rcu_barrier. x86 cannot tell, a locked instruction is a full barrier; aarch64 and POWER can.
	__atomic_fetch_sub(&batch->running, 1, __ATOMIC_RELEASE);
}

static void sweep(void)
{
	for (uint32_t cpu = 0; cpu < all.count; cpu++) {
		struct batch *batch = lock_batch(cpu);
		struct list ripe = take_ripe__(batch);
		unlock_batch(batch);
		run(batch, ripe);
	}
}

static void start(void)
{
	cf_cpu_start();
	all.batches = aligned_alloc(CF_LINE, cf_slot_count() * sizeof(struct batch));
	all.count = all.batches ? cf_slot_count() : 1;
	all.batches = all.batches ? all.batches : &spare;
	all.most = CF_RCU_BACKLOG / all.count > 2 * URGENT ? CF_RCU_BACKLOG / all.count : 2 * URGENT;
	for (uint32_t i = 0; i < all.count; i++)
		all.batches[i] = (struct batch){ .locked = 0 };
	cf_rcu_start_driver(sweep);
}

// --- Calls.

void cf_rcu_call(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head))
{
	const struct list one = { head, head, 1 };
	struct batch *batch;
	uint64_t number = 0;
	bool urgent = false;
	pthread_once(&once, start);
	head->callback = callback;
	head->next = NULL;
	CF_TEST_POINT("rcu: to be queued");
	batch = lock_batch(cf_cpu_current());
	append(&batch->filling, &one);
	if (batch->filling.count >= CF_RCU_BATCH) {
		number = close__(batch);
		urgent = batch->wait.count + batch->next.count >= URGENT;
	}
	SANITISED_RELEASE(&cf_rcu_ended_sections);
	unlock_batch(batch);
	if (number)
		cf_rcu_ask(number, urgent);
}

static void arrived(struct rcu_head *head)
{
	struct parcel *parcel = (struct parcel *)head;
	SANITISED_ACQUIRE(parcel);
	SANITISED_ACQUIRE(&cf_rcu_ended_sections);
	parcel->callbacks->callback(parcel->callbacks);
	SANITISED_RELEASE(&ended_callbacks);
	free(parcel);
}

void cf_rcu_call_soon(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head))
{
	struct parcel *parcel = malloc(sizeof *parcel);
	if (!parcel) {
		cf_rcu_call(head, callback);
		return;
	}
	head->callback = callback;
	*parcel = (struct parcel){ .callbacks = head };
	SANITISED_RELEASE(parcel);
	CF_RCU_FLAVOUR(call_rcu)(&parcel->head, arrived);
}

void cf_rcu_synchronize(void)
{
	CF_RCU_FLAVOUR(synchronize_rcu)();
	SANITISED_ACQUIRE(&cf_rcu_ended_sections);
}

void cf_rcu_relax(void)
{
	struct list taken;
	struct batch *batch;
	bool crowded;
	pthread_once(&once, start);
	batch = &all.batches[cf_cpu_current() % all.count];
	// Relaxed: a hint of this CPU's, so that shared words are looked at once for each batch.
	if (CF_LIKELY(!__atomic_load_n(&batch->closed, __ATOMIC_RELAXED)))
		return;
	batch = lock_batch(cf_cpu_current());
	__atomic_store_n(&batch->closed, 0, __ATOMIC_RELAXED);
	taken = take_ripe__(batch);
	unlock_batch(batch);
	run(batch, taken);
	batch = lock_batch(cf_cpu_current());
	crowded = batch->wait.count + batch->next.count > all.most;
	if (crowded)
		taken = take_all__(batch);
	unlock_batch(batch);
	if (crowded) {
		cf_rcu_synchronize();
		run(batch, taken);
	}
}

// All that was queued, into one list for each CPU; then one grace period for all.
void cf_rcu_barrier(void)
{
	struct list *taken;
	pthread_once(&once, start);
	taken = malloc(all.count * sizeof *taken);
	for (uint32_t cpu = 0; cpu < all.count; cpu++) {
		struct batch *batch = lock_batch(cpu);
		struct list mine;
		close__(batch);
		mine = take_all__(batch);
		unlock_batch(batch);
		if (taken) {
			taken[cpu] = mine;
			continue;
		}
		cf_rcu_synchronize();
		run(batch, mine);
	}
	cf_rcu_synchronize();
	for (uint32_t cpu = 0; taken && cpu < all.count; cpu++)
		run(&all.batches[cpu], taken[cpu]);
	free(taken);
	for (uint32_t cpu = 0; cpu < all.count; cpu++) // acquire: what others have run
		CF_LOCK_WAIT_UNTIL(!__atomic_load_n(&all.batches[cpu].running, __ATOMIC_ACQUIRE));
	CF_RCU_FLAVOUR(barrier)();
	SANITISED_ACQUIRE(&ended_callbacks);
}
