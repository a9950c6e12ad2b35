// SPDX-License-Identifier: MIT OR Apache-2.0
// Callbacks in batches: each CPU collects its own, so that a shared line moves once for each batch.
#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>
#include <corefold/cf_rcu.h>

#include <pthread.h>
#include <stdlib.h>

#if CF_BUILT_SANITISED
#include <sanitizer/tsan_interface.h>
#define SANITISED_RELEASE(p) __tsan_release(p)
#define SANITISED_ACQUIRE(p) __tsan_acquire(p)
#else
#define SANITISED_RELEASE(p) ((void)(p))
#define SANITISED_ACQUIRE(p) ((void)(p))
#endif

struct batch {
	uint32_t locked;
	uint32_t count;
	uint32_t handed; // since the last relax on this CPU
	struct cf_rcu_head *heads;
} CF_LINE_ALIGNED;

// A batch on its way through liburcu.
struct parcel {
	struct rcu_head head;
	struct cf_rcu_head *heads;
	uint32_t count;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct batch spare;
// Two lines: constants, which every call reads, and the one word that CPUs write in turn.
static struct {
	struct batch *batches;
	uint32_t count;
	uint64_t outstanding CF_LINE_ALIGNED;
} all;
// For ThreadSanitizer alone: sections that have ended, callbacks that have run.
static char ended_sections, ended_callbacks;

#if CF_BUILT_SANITISED
void cf_rcu_sanitised_unlock(void)
{
	SANITISED_RELEASE(&ended_sections);
}
#endif

static void start(void)
{
	cf_cpu_start();
	all.batches = aligned_alloc(CF_LINE, cf_slot_count() * sizeof(struct batch));
	all.count = all.batches ? cf_slot_count() : 1;
	all.batches = all.batches ? all.batches : &spare;
	for (uint32_t i = 0; i < all.count; i++)
		all.batches[i] = (struct batch){ .heads = NULL };
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

static uint32_t run(struct cf_rcu_head *heads)
{
	uint32_t count = 0;
	SANITISED_ACQUIRE(&ended_sections);
	for (struct cf_rcu_head *next; heads; heads = next, count++) {
		next = heads->next;
		heads->callback(heads);
	}
	return count;
}

static void arrived(struct rcu_head *head)
{
	struct parcel *parcel = (struct parcel *)head;
	SANITISED_ACQUIRE(parcel);
	run(parcel->heads);
	__atomic_fetch_sub(&all.outstanding, parcel->count, __ATOMIC_RELAXED); // relaxed: how many, and nothing more
	SANITISED_RELEASE(&ended_callbacks);
	free(parcel);
}

// Passes the batch on. Without memory it stays, and grows.
static void hand_over__(struct batch *batch)
{
	struct parcel *parcel = batch->heads ? malloc(sizeof *parcel) : NULL;
	if (!parcel)
		return;
	*parcel = (struct parcel){ .heads = batch->heads, .count = batch->count };
	__atomic_fetch_add(&all.outstanding, parcel->count, __ATOMIC_RELAXED); // relaxed: as above
	batch->heads = NULL;
	batch->count = 0;
	__atomic_store_n(&batch->handed, 1, __ATOMIC_RELAXED); // relaxed: a hint
	SANITISED_RELEASE(parcel);
	CF_RCU_FLAVOUR(call_rcu)(&parcel->head, arrived);
}

static void add(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *), uint32_t most)
{
	struct batch *batch;
	pthread_once(&once, start);
	head->callback = callback;
	batch = lock_batch(cf_cpu_current());
	head->next = batch->heads;
	batch->heads = head;
	if (++batch->count >= most)
		hand_over__(batch);
	unlock_batch(batch);
}

void cf_rcu_call(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head))
{
	add(head, callback, CF_RCU_BATCH);
}

void cf_rcu_call_soon(struct cf_rcu_head *head, void (*callback)(struct cf_rcu_head *head))
{
	add(head, callback, 1);
}

void cf_rcu_synchronize(void)
{
	CF_RCU_FLAVOUR(synchronize_rcu)();
	SANITISED_ACQUIRE(&ended_sections);
}

void cf_rcu_relax(void)
{
	struct batch *batch;
	pthread_once(&once, start);
	batch = &all.batches[cf_cpu_current() % all.count];
	// Relaxed: a hint of this CPU's, so that the shared word is looked at once for each batch.
	if (CF_LIKELY(!__atomic_load_n(&batch->handed, __ATOMIC_RELAXED)))
		return;
	batch = lock_batch(cf_cpu_current());
	__atomic_store_n(&batch->handed, 0, __ATOMIC_RELAXED);
	unlock_batch(batch);
	while (__atomic_load_n(&all.outstanding, __ATOMIC_RELAXED) > CF_RCU_BACKLOG) {
		cf_rcu_synchronize();
		CF_LOCK_REST();
	}
}

void cf_rcu_barrier(void)
{
	pthread_once(&once, start);
	for (uint32_t cpu = 0; cpu < all.count; cpu++) {
		struct batch *batch = lock_batch(cpu);
		struct cf_rcu_head *left;
		hand_over__(batch);
		left = batch->heads; // there was no memory
		batch->heads = NULL;
		batch->count = 0;
		unlock_batch(batch);
		if (left) {
			cf_rcu_synchronize();
			run(left);
		}
	}
	CF_RCU_FLAVOUR(barrier)();
	SANITISED_ACQUIRE(&ended_callbacks);
}
