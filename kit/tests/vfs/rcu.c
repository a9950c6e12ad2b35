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

TEST("relax bounds what is outstanding")
{
	long most = 0;
	called = 0;
	for (long i = 0; i < 6 * CF_RCU_BACKLOG; i++) {
		long outstanding = i - __atomic_load_n(&called, __ATOMIC_RELAXED);
		most = outstanding > most ? outstanding : most;
		cf_rcu_call(&new_object()->rcu, on_grace);
		cf_rcu_relax();
	}
	CHECK(most <= CF_RCU_BACKLOG + CF_RCU_BATCH * ((long)cf_slot_count() + 1));
	cf_rcu_barrier();
	CHECK_EQUAL(called, 6 * CF_RCU_BACKLOG);
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

TEST("synchronize waits for a section that has begun")
{
	struct actor reader = { .act = hold_section, .cpu = 0 };
	in_section = section_over = 0;
	actor_start(&reader);
	while (!__atomic_load_n(&in_section, __ATOMIC_ACQUIRE))
		usleep(100);
	cf_rcu_synchronize();
	CHECK(__atomic_load_n(&section_over, __ATOMIC_ACQUIRE));
	actor_end(&reader);
}

VFS_MAIN
