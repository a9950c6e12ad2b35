// SPDX-License-Identifier: MIT OR Apache-2.0
// A CPU's loaded magazine beside who drains it, and beside signals: with sequences that are made to last.
#include "hold.h"
#include <corefold/cf_slab.h>

#include <signal.h>

extern uint32_t cf_slab_test_delay; // turns of a loop inside of each sequence

static struct cf_slab slab;

struct object {
	uint64_t owner;
	char rest[56];
};

static void zero(void *object)
{
	memset(object, 0, sizeof(struct object));
}

static void begin(uint32_t magazine)
{
	struct cf_slab_options options = { .size = sizeof(struct object), .constructor = zero, .magazine = magazine };
	CHECK_EQUAL(cf_slab_init(&slab, &options), 0);
}

static void end(void)
{
	struct cf_slab_stats stats;
	cf_slab_test_delay = 0;
	cf_slab_shrink(&slab);
	cf_slab_stats(&slab, &stats);
	CHECK_EQUAL(stats.allocations, stats.frees);
	CHECK_EQUAL(stats.cached, 0);
	CHECK_EQUAL(stats.bytes, 0);
	CHECK_EQUAL(cf_slab_destroy(&slab), 0);
}

// --- One thread at a point.

static void *object;

static void shrink(void)
{
	cf_slab_shrink(&slab);
}

static struct cf_slab_stats seen;

static void look(void)
{
	cf_slab_stats(&slab, &seen);
}

TEST("statistics beside an object that goes to another CPU are no nonsense")
{
	struct actor looker = { .act = look, .cpu = 0, .stop_at = "slab: a CPU is counted" };
	if (!two_cpus())
		return;
	begin(8);
	actor_start(&looker);
	CHECK(actor_wait_held(&looker)); // has seen the first CPU
	pin(0);
	object = cf_slab_alloc(&slab);
	pin(1);
	cf_slab_free(&slab, object);
	unpin();
	actor_end(&looker);
	CHECK(seen.frees <= 1);
	CHECK_EQUAL(seen.allocated, 0);
	end();
}

static void take_and_give(void)
{
	object = cf_slab_alloc(&slab);
	cf_slab_free(&slab, object);
}

TEST("nothing is taken through a closed gate, and one drains at a time")
{
	struct actor drainer = { .act = shrink, .cpu = 1, .stop_at = "slab: gates closed" };
	struct actor taker = { .act = take_and_give, .cpu = 0 }, second = { .act = shrink, .cpu = 0 };
	if (!two_cpus() || cf_cpu_state.mode != CF_CPU_RSEQ)
		return;
	begin(8);
	pin(0);
	take_and_give(); // a magazine is loaded on this CPU
	unpin();
	actor_start(&drainer);
	CHECK(actor_wait_held(&drainer));
	actor_start(&taker);
	actor_start(&second);
	CHECK(!actor_finishes(&taker));
	CHECK(!actor_finishes(&second));
	actor_end(&drainer);
	actor_end(&taker);
	actor_end(&second);
	CHECK(object != NULL);
	end();
}

// --- Many at all instructions.

static uint32_t stop;

static bool goes_on(void)
{
	return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void use(uint64_t id)
{
	enum { HELD = 12 };
	struct object *held[HELD];
	for (int i = 0; i < HELD; i++) {
		uint64_t nobody = 0;
		held[i] = cf_slab_alloc(&slab);
		CHECK(held[i] != NULL);
		CHECK(__atomic_compare_exchange_n(&held[i]->owner, &nobody, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
	for (int i = 0; i < HELD; i++) {
		CHECK_EQUAL(__atomic_exchange_n(&held[i]->owner, 0, __ATOMIC_RELAXED), id);
		cf_slab_free(&slab, held[i]);
	}
}

static void use_or_drain(int id, void *shared)
{
	(void)shared;
	while (id && goes_on())
		use((uint64_t)id);
	for (long i = 0; !id && i < scaled(6000); i++) {
		cf_slab_shrink(&slab);
		usleep(20);
	}
	if (!id)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST("who drains waits for sequences that are under way")
{
	stop = 0;
	begin(4);
	cf_slab_test_delay = 20000;
	crew_run(3, false, use_or_drain, NULL);
	end();
}

// One thread is in a sequence when another begins to drain, in every round unless one of the two is preempted.
enum { ROUNDS = 60 };
static uint32_t begun, drained;

static void take_slowly(void)
{
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		cf_slab_test_delay = 0;
		cf_slab_free(&slab, cf_slab_alloc(&slab)); // loads a magazine
		cf_slab_test_delay = 300000;
		__atomic_store_n(&begun, round, __ATOMIC_RELEASE);
		use(1);
		while (__atomic_load_n(&drained, __ATOMIC_ACQUIRE) != round)
			sched_yield();
	}
}

static void drain_meanwhile(void)
{
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) != round)
			;
		for (uint32_t i = 0; i < 20000; i++) // until it is in the sequence
			__asm__ volatile("");
		cf_slab_shrink(&slab);
		__atomic_store_n(&drained, round, __ATOMIC_RELEASE);
	}
}

TEST("who drains waits for one sequence that is under way")
{
	struct actor taker = { .act = take_slowly, .cpu = 0 }, drainer = { .act = drain_meanwhile, .cpu = 1 };
	if (!two_cpus() || cf_cpu_state.mode != CF_CPU_RSEQ)
		return;
	begin(16);
	begun = drained = 0;
	actor_start(&taker);
	actor_start(&drainer);
	actor_end(&taker);
	actor_end(&drainer);
	end();
}

static pthread_t receivers[CREW_MAX];
static long received;

static void on_signal(int number)
{
	(void)number;
	__atomic_fetch_add(&received, 1, __ATOMIC_RELAXED);
}

static void use_or_signal(int id, void *shared)
{
	(void)shared;
	__atomic_store_n(&receivers[id], pthread_self(), __ATOMIC_RELEASE);
	while (id && goes_on())
		use((uint64_t)id);
	for (long i = 0; !id && i < scaled(6000); i++) {
		pthread_t to = __atomic_load_n(&receivers[1 + i % 3], __ATOMIC_ACQUIRE);
		if (to)
			pthread_kill(to, SIGUSR1);
		if (i % 8 == 0)
			usleep(1);
	}
	if (!id)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST("a thread that is interrupted at any instruction takes and gives once")
{
	struct sigaction action = { .sa_handler = on_signal };
	sigaction(SIGUSR1, &action, NULL);
	for (uint32_t delay = 0; delay <= 3000; delay += 3000) {
		stop = 0;
		memset(receivers, 0, sizeof receivers);
		begin(4);
		cf_slab_test_delay = delay;
		crew_run(4, delay != 0, use_or_signal, NULL);
		end();
	}
	CHECK(received > 100);
	signal(SIGUSR1, SIG_DFL);
}

HARNESS_MAIN
