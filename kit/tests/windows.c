// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps whose order the counters rest on, held apart by test points: what another thread does in between must not
// oversell, be lost, or be refused wrongly. Compiled with the kit's sources and CF_TEST_POINTS.
#include "hold.h"
#include <corefold/cf_adaptive_counter.h>
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

// The one who takes nearly all is held at each step of his decision; the small ones go on in their slots, or wait.
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
static int take_slowly(struct cf_slot *slots)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "movl 4(%%rax), %%ecx\n\t"
					     "sarl $31, %%ecx\n\t"
					     "jz %l[full]\n\t"
					     "movl (%%rax), %%edx\n\t"
					     "decl %%edx\n\t"
					     "cmpl $-4, %%edx\n\t"
					     "jle %l[full]\n\t"
					     "movl $3000, %%ecx\n"
					     "5:\n\t"
					     "decl %%ecx\n\t"
					     "jnz 5b\n\t"
					     "movl %%edx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : moved, full);
	return CF_SLOT_DONE;
moved:
	return CF_SLOT_MOVED;
full:
	return CF_SLOT_FULL;
}

// The same for a plain add of 1, and any permit that is open.
static int add_slowly(struct cf_slot *slots)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "cmpl $0, 4(%%rax)\n\t"
					     "je %l[full]\n\t"
					     "movl (%%rax), %%edx\n\t"
					     "incl %%edx\n\t"
					     "movl $3000, %%ecx\n"
					     "5:\n\t"
					     "decl %%ecx\n\t"
					     "jnz 5b\n\t"
					     "movl %%edx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : moved, full);
	return CF_SLOT_DONE;
moved:
	return CF_SLOT_MOVED;
full:
	return CF_SLOT_FULL;
}

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

TEST("percpu: nor does one who looked at his permit before it changed")
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

static struct cf_adaptive_counter adaptive;
static int served;

static void raise_guard(void)
{
	while (adaptive.guard != 50000 && cf_adaptive_counter_limited_add(&adaptive, 50000, -1) == 0)
		;
}

static void fall_below(void)
{
	CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, -60000), 0);
}

static void take_from_credit(void)
{
	for (int i = 0; i < 10; i++)
		served += cf_adaptive_counter_limited_add(&adaptive, 50000, -1) == 0;
}

// CPU 0 has credit.
static void begin_adaptive(void)
{
	CHECK_EQUAL(cf_adaptive_counter_init(&adaptive, 100000, 0), 0);
	pin(0);
	for (int i = 0; i < 200; i++)
		CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, i & 1 ? -1 : 1), 0);
	unpin();
	CHECK(cf_adaptive_counter_holders(&adaptive) > 0);
	served = 0;
}

TEST("adaptive: when an add below a limit has returned, nothing more is taken above that limit")
{
	const char *const steps[] = { "adaptive: about to raise", "adaptive: raising", "adaptive: looked", "adaptive: raised" };
	const char *const then[] = { NULL, "adaptive: raising", "adaptive: raised" };
	for (size_t i = 0; two_cpus() && i < 3 * sizeof steps / sizeof *steps; i++) {
		struct actor raiser = { .act = raise_guard, .cpu = 1, .stop_at = steps[i / 3] };
		struct actor faller = { .act = fall_below, .cpu = 1 }, taker = { .act = take_from_credit, .cpu = 0 };
		bool fell;
		begin_adaptive();
		actor_start(&raiser);
		CHECK(actor_wait_held(&raiser));
		actor_start(&faller);
		fell = actor_finishes(&faller);
		if (fell && then[i % 3]) { // the raiser goes on to there before anybody takes
			raiser.stop_at = then[i % 3];
			sem_post(&raiser.go_on);
			actor_wait_held(&raiser);
		}
		if (!fell) {
			actor_end(&raiser);
			actor_end(&faller);
		}
		actor_start(&taker);
		if (fell) {
			(void)actor_finishes(&taker);
			actor_end(&raiser);
			actor_end(&faller);
		}
		actor_end(&taker);
		CHECK_EQUAL(served, 0);
		CHECK(cf_adaptive_counter_sum(&adaptive) < 50000);
		cf_adaptive_counter_destroy(&adaptive);
	}
}

static int taken_result;

static void take_above_99500(void)
{
	taken_result = cf_adaptive_counter_limited_add(&adaptive, 99500, -400);
}

// A taker that has failed twice to change the word finds credit in its slot, and the lock held: the guard is lower yet.
TEST("adaptive: a taker that was disturbed looks at the guard before it takes from credit")
{
	struct actor taker = { .act = take_above_99500, .cpu = 0, .stop_at = "adaptive: taking" };
	struct actor raiser = { .act = raise_guard, .cpu = 1, .stop_at = "adaptive: about to raise" };
	if (!two_cpus())
		return;
	CHECK_EQUAL(cf_adaptive_counter_init(&adaptive, 100000, 0), 0);
	actor_start(&taker);
	CHECK(actor_wait_held(&taker));
	CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, 1), 0);
	taker.stop_at = "adaptive: taking";
	sem_post(&taker.go_on);
	CHECK(actor_wait_held(&taker));
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&adaptive, 99500, -501), 0); // what there was above that limit
	pin(0);
	for (int i = 0; i < 200; i++)
		CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, i & 1 ? -1 : 1), 0);
	unpin();
	CHECK(cf_adaptive_counter_holders(&adaptive) > 0);
	actor_start(&raiser);
	CHECK(actor_wait_held(&raiser));
	sem_post(&taker.go_on);
	(void)actor_finishes(&taker);
	actor_end(&raiser);
	actor_end(&taker);
	CHECK_EQUAL(taken_result, -ENOSPC);
	cf_adaptive_counter_destroy(&adaptive);
}

static int64_t summed;

static void sum_adaptive(void)
{
	summed = cf_adaptive_counter_sum(&adaptive);
}

TEST("adaptive: a sum beside credit that moves is exact")
{
	struct actor looker = { .act = sum_adaptive, .cpu = 0, .stop_at = "adaptive: looking" };
	int64_t value;
	begin_adaptive();
	value = cf_adaptive_counter_sum(&adaptive);
	actor_start(&looker);
	CHECK(actor_wait_held(&looker));
	CHECK_EQUAL(cf_adaptive_counter_limited_add(&adaptive, value, -1), -ENOSPC); // calls all credit back
	CHECK_EQUAL(cf_adaptive_counter_holders(&adaptive), 0);
	actor_end(&looker);
	CHECK_EQUAL(summed, value);
	cf_adaptive_counter_destroy(&adaptive);
}

static int64_t large;

static void add_large(void)
{
	CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, large), 0);
}

TEST("adaptive: nor does it fall between the two steps of a move")
{
	struct actor mover = { .act = add_large, .cpu = 0, .stop_at = "adaptive: granting" };
	struct actor looker = { .act = sum_adaptive, .cpu = 1 };
	int64_t before;
	begin_adaptive();
	pin(0);
	CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, -10), 0); // so that it is refilled
	unpin();
	before = cf_adaptive_counter_sum(&adaptive);
	large = -3000;
	actor_start(&mover);
	CHECK(actor_wait_held(&mover));
	actor_start(&looker);
	(void)actor_finishes(&looker);
	actor_end(&mover);
	actor_end(&looker);
	CHECK(summed == before || summed == before + large);
	cf_adaptive_counter_destroy(&adaptive);
}

static void add_small(void)
{
	CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, 3), 0);
}

// Too much for the credit, in either direction and, below the guard, by folding; meanwhile its CPU counts there.
TEST("adaptive: credit that changes while it is refilled, flushed or folded is not lost")
{
	const struct { const char *step; int64_t amount; } ways[] = { { "adaptive: refilling", -3000 },
		{ "adaptive: flushing", 3000 }, { "adaptive: folding", -60000 } };
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct actor mover = { .act = add_large, .cpu = 0, .stop_at = ways[i].step };
		struct actor adder = { .act = add_small, .cpu = 0 };
		int64_t after;
		begin_adaptive();
		pin(0);
		raise_guard();
		for (int k = 0; k < 200; k++)
			CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, k & 1 ? -1 : 1), 0);
		for (int k = 0; k < 10; k++) // below or above half of what it may be
			CHECK_EQUAL(cf_adaptive_counter_add(&adaptive, ways[i].amount < 0 ? -1 : 1), 0);
		unpin();
		CHECK(cf_adaptive_counter_holders(&adaptive) > 0);
		large = ways[i].amount;
		after = cf_adaptive_counter_sum(&adaptive) + large + 3;
		actor_start(&mover);
		CHECK(actor_wait_held(&mover));
		actor_start(&adder);
		(void)actor_finishes(&adder); // or waits for the lock, which an add that finds its slot closed need not
		actor_end(&mover);
		actor_end(&adder);
		CHECK_EQUAL(cf_adaptive_counter_sum(&adaptive), after);
		(void)cf_adaptive_counter_settle(&adaptive);
		(void)cf_adaptive_counter_settle(&adaptive);
		CHECK_EQUAL(cf_adaptive_counter_holders(&adaptive), 0);
		CHECK_EQUAL(cf_adaptive_counter_read(&adaptive), after);
		cf_adaptive_counter_destroy(&adaptive);
	}
}

#if CF_BUILT_RSEQ
// An add of 1 to the credit that takes its time between the look at the maximum and the base and the store.
static int credit_slowly(struct cf_slot *slots)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "cmpq $0, 16(%%rax)\n\t"
					     "je %l[full]\n\t"
					     "movq (%%rax), %%rdx\n\t"
					     "incq %%rdx\n\t"
					     "movl $3000, %%ecx\n"
					     "5:\n\t"
					     "decl %%ecx\n\t"
					     "jnz 5b\n\t"
					     "movq %%rdx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : moved, full);
	return CF_SLOT_DONE;
moved:
	return CF_SLOT_MOVED;
full:
	return CF_SLOT_FULL;
}

static int slow_result, limited_result;

static void credit_one_slowly(void)
{
	__atomic_store_n(&taking, 1, __ATOMIC_RELEASE);
	do
		slow_result = credit_slowly(adaptive.slots);
	while (slow_result == CF_SLOT_MOVED);
}

static uint32_t moved;
static int64_t counted;

static void credit_slowly_meanwhile(void)
{
	while (!__atomic_load_n(&moved, __ATOMIC_ACQUIRE))
		counted += credit_slowly(adaptive.slots) == CF_SLOT_DONE;
}

static void add_large_and_tell(void)
{
	add_large();
	__atomic_store_n(&moved, 1, __ATOMIC_RELEASE);
}

// A thread that folds the slot of a CPU that it has been moved away from.
TEST("adaptive: nor to a slot that is folded from elsewhere")
{
	cpu_set_t set;
	if (cf_cpu_state.mode != CF_CPU_RSEQ || !two_cpus())
		return;
	pin(1);
	sched_getaffinity(0, sizeof set, &set);
	for (int i = 0; i < 50; i++) {
		struct actor folder = { .act = add_large_and_tell, .cpu = 0, .stop_at = "adaptive: beyond credit" };
		struct actor slow = { .act = credit_slowly_meanwhile, .cpu = 0 };
		int64_t after;
		begin_adaptive();
		pin(0);
		raise_guard();
		unpin();
		large = -60000;
		after = cf_adaptive_counter_sum(&adaptive) + large;
		moved = 0;
		counted = 0;
		actor_start(&folder);
		CHECK(actor_wait_held(&folder));
		pthread_setaffinity_np(folder.thread, sizeof set, &set);
		actor_start(&slow);
		actor_end(&folder);
		actor_end(&slow);
		CHECK_EQUAL(cf_adaptive_counter_sum(&adaptive), after + counted);
		cf_adaptive_counter_destroy(&adaptive);
	}
}

// Needs to know exactly, so it calls all credit back.
static void take_exactly_meanwhile(void)
{
	while (!__atomic_load_n(&taking, __ATOMIC_ACQUIRE))
		;
	limited_result = cf_adaptive_counter_limited_add(&adaptive, 100000, -1);
}

TEST("adaptive: no add is lost to credit that is called back")
{
	if (cf_cpu_state.mode != CF_CPU_RSEQ || !two_cpus())
		return;
	for (int i = 0; i < 200; i++) {
		struct actor exact = { .act = take_exactly_meanwhile, .cpu = 1 }, slow = { .act = credit_one_slowly, .cpu = 0 };
		int64_t value = 100000;
		begin_adaptive();
		taking = 0;
		actor_start(&exact);
		actor_start(&slow);
		actor_end(&exact);
		actor_end(&slow);
		value += slow_result == CF_SLOT_DONE;
		value -= limited_result == 0;
		CHECK(value >= 100000);
		CHECK_EQUAL(cf_adaptive_counter_sum(&adaptive), value);
		cf_adaptive_counter_destroy(&adaptive);
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
