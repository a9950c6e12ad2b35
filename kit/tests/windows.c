// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps whose order the counters rest on, held apart by test points: what another thread does in between must not
// oversell, be lost, or be refused wrongly. Compiled with the kit's sources and CF_TEST_POINTS.
#include "hold.h"
#include "slow.h"
#include <corefold/cf_percpu_counter.h>
#include <corefold/cf_tree_counter.h>

static struct cf_percpu_counter percpu;
static int64_t giant, taken;
static int giants_result;

static void take_giant(void)
{
	giants_result = cf_percpu_counter_limited_add(&percpu, 0, -giant);
}

static void take_small(void)
{
	for (int i = 0; i < 1000; i++)
		taken += cf_percpu_counter_limited_add(&percpu, 0, -1) == 0;
}

// Every CPU has a quota of 3.
static void begin_percpu(void)
{
	const struct cf_percpu_options options = { 4, 0, CF_LOCK_QUEUED };
	CHECK_EQUAL(cf_percpu_counter_init_with(&percpu, 100, &options), 0);
	pin(0);
	CHECK_EQUAL(cf_percpu_counter_limited_add(&percpu, 0, -9), 0);
	CHECK_EQUAL(cf_percpu_counter_add(&percpu, 9), 0);
	CHECK(percpu.quota == 1);
	unpin();
	giant = 100;
	giants_result = 1;
	taken = 0;
}

static void end_percpu(void)
{
	CHECK(giants_result == 0 || giants_result == -ENOSPC);
	CHECK(taken > 0 || giants_result == 0); // who is refused was too late
	CHECK_EQUAL(cf_percpu_counter_sum(&percpu), 100 - taken - (giants_result ? 0 : giant));
	CHECK(cf_percpu_counter_sum(&percpu) >= 0);
	cf_percpu_counter_destroy(&percpu);
}

// The thread that takes nearly all is held at each step of its decision; the others take in their slots, or wait.
TEST("percpu: nobody takes in a slot behind the back of a sum")
{
	const char *const steps[] = { "percpu: withdrawn", "percpu: summing", "percpu: decided" };
	for (size_t i = 0; two_cpus() && i < sizeof steps / sizeof *steps; i++) {
		struct actor all = { .act = take_giant, .cpu = 1, .stop_at = steps[i] };
		struct actor small = { .act = take_small, .cpu = 0 };
		begin_percpu();
		actor_start(&all);
		CHECK(actor_wait_held(&all));
		actor_start(&small);
		CHECK(!actor_finishes(&small)); // the lock is held
		actor_end(&all);
		actor_end(&small);
		end_percpu();
	}
}

// Takes 1 at a time on another CPU until it is refused, which may be never.
static int64_t takes_elsewhere(void)
{
	int64_t count = 0;
	pin(1);
	while (count < 100 && cf_percpu_counter_limited_add(&percpu, 0, -1) == 0)
		count++;
	unpin();
	return count;
}

TEST("percpu: what takes the value near the limit withdraws quotas first")
{
	for (int larger = 0; two_cpus() && larger < 2; larger++) {
		begin_percpu();
		pin(0);
		if (larger) // stays in the slot
			CHECK_EQUAL(cf_percpu_counter_add_batch(&percpu, -98, 1000), 0);
		else
			CHECK_EQUAL(cf_percpu_counter_add(&percpu, -98), 0);
		CHECK_EQUAL(takes_elsewhere(), 2);
		cf_percpu_counter_destroy(&percpu);
	}
}

TEST("percpu: two CPUs in turn get what there is, and no more")
{
	const struct cf_percpu_options options = { 4, 0, CF_LOCK_QUEUED };
	for (int64_t value = 1; two_cpus() && value < 60; value++) {
		int64_t refused = 0;
		CHECK_EQUAL(cf_percpu_counter_init_with(&percpu, value, &options), 0);
		taken = 0;
		for (int i = 0; refused < 2 && i < 200; i++) {
			pin(i & 1);
			if (cf_percpu_counter_limited_add(&percpu, 0, -1) == 0)
				taken++;
			else
				refused++;
		}
		CHECK_EQUAL(taken, value);
		cf_percpu_counter_destroy(&percpu);
	}
	unpin();
}

TEST("percpu: a quota serves no higher limit than it was given for")
{
	begin_percpu();
	pin(0);
	CHECK_EQUAL(cf_percpu_counter_limited_add(&percpu, 99, -1), 0);
	CHECK_EQUAL(cf_percpu_counter_limited_add(&percpu, 99, -1), -ENOSPC);
	unpin();
	cf_percpu_counter_destroy(&percpu);
	begin_percpu();
	pin(0);
	CHECK_EQUAL(cf_percpu_counter_limited_add(&percpu, 100, -1), -ENOSPC);
	unpin();
	cf_percpu_counter_destroy(&percpu);
}

static void fold(void)
{
	CHECK_EQUAL(cf_percpu_counter_add(&percpu, 9), 0);
}

static void count_there(void)
{
	CHECK_EQUAL(cf_percpu_counter_add(&percpu, 1), 0);
}

TEST("percpu: a delta that changes while it is folded is not lost")
{
	struct actor folder = { .act = fold, .cpu = 0, .stop_at = "percpu: folding" }, adder = { .act = count_there, .cpu = 0 };
	begin_percpu();
	pin(0);
	CHECK_EQUAL(cf_percpu_counter_add(&percpu, 2), 0); // a delta
	unpin();
	actor_start(&folder);
	CHECK(actor_wait_held(&folder));
	actor_start(&adder);
	CHECK(actor_finishes(&adder));
	actor_end(&folder);
	actor_end(&adder);
	CHECK_EQUAL(cf_percpu_counter_sum(&percpu), 112);
	cf_percpu_counter_destroy(&percpu);
}

static void add_with_larger_batch(void)
{
	CHECK_EQUAL(cf_percpu_counter_add_batch(&percpu, 1, 1000), 0);
}

TEST("percpu: the bound of deltas never falls")
{
	struct actor later = { .act = add_with_larger_batch, .cpu = 0, .stop_at = "percpu: larger batch" };
	begin_percpu();
	actor_start(&later);
	CHECK(actor_wait_held(&later));
	CHECK_EQUAL(cf_percpu_counter_add_batch(&percpu, 1, 5000), 0);
	actor_end(&later);
	CHECK_EQUAL(percpu.bound, 5000);
	cf_percpu_counter_destroy(&percpu);
}

#if CF_BUILT_RSEQ
// A limited add that takes its time between the look at the permit and the store: what the fence is for.
SLOW_SEQUENCE(take_slowly, "movl 4(%%rax), %%ecx\n\t"
			   "sarl $31, %%ecx\n\t"
			   "jz %l[full]\n\t"
			   "movl (%%rax), %%edx\n\t"
			   "decl %%edx\n\t"
			   "cmpl $-4, %%edx\n\t"
			   "jle %l[full]\n\t" SLOW_LOOP "movl %%edx, (%%rax)\n")

// The same for a plain add of 1, and any permit that is open.
SLOW_SEQUENCE(add_slowly, "cmpl $0, 4(%%rax)\n\t"
			  "je %l[full]\n\t"
			  "movl (%%rax), %%edx\n\t"
			  "incl %%edx\n\t" SLOW_LOOP "movl %%edx, (%%rax)\n")

static uint32_t taking;

static void take_one_slowly(void)
{
	int result;
	do {
		__atomic_store_n(&taking, 1, __ATOMIC_RELEASE);
		result = take_slowly(percpu.slots);
	} while (result == CF_SLOT_MOVED);
	taken += result == CF_SLOT_DONE;
}

static void take_giant_meanwhile(void)
{
	while (!__atomic_load_n(&taking, __ATOMIC_ACQUIRE))
		;
	take_giant();
}

TEST("percpu: nobody takes after a sum by a permit that was read before it")
{
	if (cf_cpu_state.mode != CF_CPU_RSEQ || !two_cpus())
		return;
	for (int i = 0; i < 200; i++) {
		struct actor all = { .act = take_giant_meanwhile, .cpu = 1 }, slow = { .act = take_one_slowly, .cpu = 0 };
		begin_percpu();
		taking = 0;
		actor_start(&all);
		actor_start(&slow);
		actor_end(&all);
		actor_end(&slow);
		end_percpu();
	}
}
static void add_one_slowly(void)
{
	CHECK_EQUAL(cf_percpu_counter_add(&percpu, 2), 0); // a delta
	__atomic_store_n(&taking, 1, __ATOMIC_RELEASE);
	while (add_slowly(percpu.slots) != CF_SLOT_DONE)
		;
}

static void set_meanwhile(void)
{
	while (!__atomic_load_n(&taking, __ATOMIC_ACQUIRE))
		;
	CHECK_EQUAL(cf_percpu_counter_set(&percpu, 5), 0);
}

TEST("percpu: an add beside a set comes before it or after it")
{
	if (cf_cpu_state.mode != CF_CPU_RSEQ || !two_cpus())
		return;
	for (int i = 0; i < 200; i++) {
		struct actor setter = { .act = set_meanwhile, .cpu = 1 }, slow = { .act = add_one_slowly, .cpu = 0 };
		int64_t sum;
		begin_percpu();
		taking = 0;
		actor_start(&setter);
		actor_start(&slow);
		actor_end(&setter);
		actor_end(&slow);
		sum = cf_percpu_counter_sum(&percpu);
		CHECK(sum == 5 || sum == 6);
		cf_percpu_counter_destroy(&percpu);
	}
}
#endif

static struct cf_tree_counter tree;

static void add_much(void)
{
	CHECK_EQUAL(cf_tree_counter_add(&tree, 1000000), 0);
}

static void take_back(void)
{
	CHECK_EQUAL(cf_tree_counter_add(&tree, -1000000), 0);
}

TEST("tree: an opposite add between a claim's look and its swap")
{
	const char *const steps[] = { "tree: claiming", "tree: carrying" };
	struct cf_cpu_state machine = cf_cpu_state;
	for (size_t i = 0; two_cpus() && i < sizeof steps / sizeof *steps; i++) {
		struct actor adder = { .act = add_much, .cpu = 0, .stop_at = steps[i] };
		struct actor opposite = { .act = take_back, .cpu = 1 };
		int64_t under, over, error;
		cf_cpu_state.slots += 64 - cf_cpu_state.cpus;
		cf_cpu_state.cpus = 64;
		CHECK_EQUAL(cf_tree_counter_init(&tree, 0, 32), 0);
		CHECK(tree.levels > 1);
		actor_start(&adder);
		CHECK(actor_wait_held(&adder));
		actor_start(&opposite);
		CHECK(actor_finishes(&opposite));
		actor_end(&adder);
		actor_end(&opposite);
		cf_tree_counter_bounds(&tree, &under, &over);
		error = cf_tree_counter_sum(&tree) - cf_tree_counter_approximate(&tree);
		CHECK(error >= -under && error <= over);
		CHECK_EQUAL(cf_tree_counter_compare(&tree, 0), 0);
		cf_tree_counter_destroy(&tree);
		cf_cpu_state = machine;
	}
}

HARNESS_MAIN
