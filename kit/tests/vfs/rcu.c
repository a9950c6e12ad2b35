// SPDX-License-Identifier: MIT OR Apache-2.0
#include "threads.h"

#include <stdlib.h>

struct object {
	struct cf_rcu_head rcu;
	uint64_t value;
	uint32_t dead;
};

static struct object *current_object;
static long called;

static void on_grace(struct cf_rcu_head *head)
{
	struct object *object = (struct object *)head;
	object->dead = 1; // beside a reader that still has it: for ThreadSanitizer to see
	object->value = 0;
	free(object);
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

static struct object *new_object(void)
{
	struct object *object = calloc(1, sizeof *object);
	object->value = 42;
	return object;
}

static void replace_or_read(int id, void *shared)
{
	(void)shared;
	for (long i = 0; i < scaled(20000); i++) {
		struct object *object;
		if (id < 2) {
			object = __atomic_exchange_n(&current_object, new_object(), __ATOMIC_ACQ_REL);
			cf_rcu_call(&object->rcu, on_grace);
			cf_rcu_relax();
			continue;
		}
		cf_rcu_read_lock();
		object = cf_rcu_dereference(current_object);
		CHECK(object->value == 42 && !object->dead);
		cf_rcu_read_unlock();
	}
}

TEST("what a section has is not freed in it, and every callback runs once")
{
	called = 0;
	current_object = new_object();
	vfs_crew(4, replace_or_read, NULL);
	cf_rcu_barrier();
	CHECK_EQUAL(called, 2 * scaled(20000));
	free(current_object);
}

TEST("barrier: also for batches that are not full, and soon without one")
{
	called = 0;
	cf_rcu_call(&new_object()->rcu, on_grace);
	usleep(50000);
	CHECK_EQUAL(__atomic_load_n(&called, __ATOMIC_RELAXED), 0);
	cf_rcu_barrier();
	CHECK_EQUAL(called, 1);
	cf_rcu_call_soon(&new_object()->rcu, on_grace);
	for (int i = 0; i < 2000 && __atomic_load_n(&called, __ATOMIC_RELAXED) < 2; i++)
		usleep(1000);
	CHECK_EQUAL(__atomic_load_n(&called, __ATOMIC_RELAXED), 2);
	cf_rcu_barrier();
}

static uint32_t in_section, section_over;

static void hold_section(void)
{
	cf_rcu_register_thread();
	cf_rcu_read_lock();
	CHECK(cf_rcu_read_ongoing());
	__atomic_store_n(&in_section, 1, __ATOMIC_RELEASE);
	usleep(30000);
	__atomic_store_n(&section_over, 1, __ATOMIC_RELEASE);
	cf_rcu_read_unlock();
	cf_rcu_unregister_thread();
}

static void wait_for_section(struct actor *reader)
{
	in_section = section_over = 0;
	actor_start(reader);
	while (!__atomic_load_n(&in_section, __ATOMIC_ACQUIRE))
		usleep(100);
}

TEST("relax bounds what is outstanding, however long a section lasts")
{
	struct actor reader = { .act = hold_section, .cpu = 0 };
	long most = 0;
	called = 0;
	wait_for_section(&reader);
	for (long i = 0; i < 6 * CF_RCU_BACKLOG; i++) {
		long outstanding = i - __atomic_load_n(&called, __ATOMIC_RELAXED);
		most = outstanding > most ? outstanding : most;
		cf_rcu_call(&new_object()->rcu, on_grace);
		cf_rcu_relax();
	}
	CHECK(most <= CF_RCU_BACKLOG + CF_RCU_BATCH * ((long)cf_slot_count() + 1));
	actor_end(&reader);
	cf_rcu_barrier();
	CHECK_EQUAL(called, 6 * CF_RCU_BACKLOG);
}

static struct section {
	uint32_t in, leave;
} sections[2];

static void stay_in(struct section *s)
{
	cf_rcu_register_thread();
	cf_rcu_read_lock();
	__atomic_store_n(&s->in, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->leave, __ATOMIC_ACQUIRE))
		usleep(100);
	cf_rcu_read_unlock();
	cf_rcu_unregister_thread();
}

static void stay_in_first(void)
{
	stay_in(&sections[0]);
}

static void stay_in_second(void)
{
	stay_in(&sections[1]);
}

static void enter(struct actor *actor, struct section *s)
{
	s->in = s->leave = 0;
	actor_start(actor);
	while (!__atomic_load_n(&s->in, __ATOMIC_ACQUIRE))
		usleep(100);
}

// A batch that is full, and what a CPU does for it within 20 ms.
static void call_and_relax(int calls)
{
	for (int i = 0; i < calls; i++)
		cf_rcu_call(&new_object()->rcu, on_grace);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		cf_rcu_relax();
	}
}

TEST("a batch waits for a grace period that begins after it was closed")
{
	struct actor first = { .act = stay_in_first, .cpu = 1 }, second = { .act = stay_in_second, .cpu = 1 };
	called = 0;
	pin(0); // one CPU's batches
	enter(&first, &sections[0]);
	call_and_relax(CF_RCU_BATCH); // the grace period waits for the first section
	CHECK_EQUAL(__atomic_load_n(&called, __ATOMIC_RELAXED), 0);
	enter(&second, &sections[1]);
	call_and_relax(CF_RCU_BATCH); // may be seen in the second
	__atomic_store_n(&sections[0].leave, 1, __ATOMIC_RELEASE);
	call_and_relax(CF_RCU_BATCH);
	CHECK(__atomic_load_n(&called, __ATOMIC_RELAXED) <= CF_RCU_BATCH);
	__atomic_store_n(&sections[1].leave, 1, __ATOMIC_RELEASE);
	actor_end(&first);
	actor_end(&second);
	unpin();
	cf_rcu_barrier();
	CHECK_EQUAL(called, 3 * CF_RCU_BATCH);
}

TEST("what a CPU leaves is freed without it")
{
	called = 0;
	for (int i = 0; i < CF_RCU_BATCH; i++)
		cf_rcu_call(&new_object()->rcu, on_grace);
	for (int i = 0; i < 5000 && __atomic_load_n(&called, __ATOMIC_RELAXED) < CF_RCU_BATCH; i++)
		usleep(1000);
	CHECK_EQUAL(__atomic_load_n(&called, __ATOMIC_RELAXED), CF_RCU_BATCH);
	cf_rcu_barrier();
}

static uint32_t slow_begun, slow_over;

static void slow_callback(struct cf_rcu_head *head)
{
	(void)head;
	__atomic_store_n(&slow_begun, 1, __ATOMIC_RELEASE);
	usleep(30000);
	__atomic_store_n(&slow_over, 1, __ATOMIC_RELEASE);
}

TEST("barrier waits for callbacks that others are running")
{
	static struct cf_rcu_head slow;
	called = 0;
	slow_begun = slow_over = 0;
	cf_rcu_call(&slow, slow_callback);
	for (int i = 1; i < CF_RCU_BATCH; i++)
		cf_rcu_call(&new_object()->rcu, on_grace);
	while (!__atomic_load_n(&slow_begun, __ATOMIC_ACQUIRE)) // the driver's
		usleep(100);
	cf_rcu_barrier();
	CHECK(__atomic_load_n(&slow_over, __ATOMIC_ACQUIRE));
	CHECK_EQUAL(called, CF_RCU_BATCH - 1);
}

TEST("synchronize waits for a section that has begun")
{
	struct actor reader = { .act = hold_section, .cpu = 0 };
	wait_for_section(&reader);
	cf_rcu_synchronize();
	CHECK(__atomic_load_n(&section_over, __ATOMIC_ACQUIRE));
	actor_end(&reader);
}

VFS_MAIN
