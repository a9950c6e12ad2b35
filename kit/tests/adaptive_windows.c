// SPDX-License-Identifier: MIT OR Apache-2.0
// The same as windows.c for the adaptive counter.
#include "hold.h"
#include "slow.h"
#include <corefold/cf_adaptive_counter.h>

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

TEST("adaptive: a sum between the two steps of a move is exact")
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
SLOW_SEQUENCE(credit_slowly, "cmpq $0, 16(%%rax)\n\t"
			     "je %l[full]\n\t"
			     "movq (%%rax), %%rdx\n\t"
			     "incq %%rdx\n\t" SLOW_LOOP "movq %%rdx, (%%rax)\n")

static int slow_result, limited_result;
static uint32_t taking;

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
TEST("adaptive: no add is lost to a slot that is folded from another CPU")
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

HARNESS_MAIN
