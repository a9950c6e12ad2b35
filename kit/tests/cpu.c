// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness.h"

static struct cf_slot *slots;

static void open_all(int32_t permit)
{
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		cf_slot_permit_set(&slots[cpu], permit);
}

static void open_all_credit(int32_t maximum)
{
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		cf_slot_credit_max_set(&slots[cpu], maximum);
}

static int64_t sum(void)
{
	int64_t sum = 0;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		sum += cf_slot_delta(cf_slot_word_load(&slots[cpu]));
	return sum;
}

TEST("possible CPUs include every CPU that we may run on")
{
	cpu_set_t allowed;
	CHECK_EQUAL(sched_getaffinity(0, sizeof allowed, &allowed), 0);
	for (uint32_t cpu = cf_cpu_count(); cpu < CPU_SETSIZE; cpu++)
		CHECK(!CPU_ISSET(cpu, &allowed));
	CHECK(cf_cpu_current() < cf_slot_count());
}

static void add_one(int id, void *shared)
{
	long n = *(long *)shared;
	(void)id;
	for (long i = 0; i < n; i++)
		while (cf_slot_add_within(slots, 1, INT32_MAX) != CF_SLOT_DONE)
			;
}

TEST("no update is lost")
{
	long n = scaled(400000);
	slots = cf_slots_new();
	open_all(-1);
	crew_run(8, true, add_one, &n);
	CHECK_EQUAL(sum(), 8 * n);
	cf_slots_free(slots);
}

// Set by the one who closes: the others go on until then, however late they begin.
static uint32_t closed_for_good;

static bool goes_on(void)
{
	return !__atomic_load_n(&closed_for_good, __ATOMIC_RELAXED); // relaxed: a sign
}

static void add_or_miss(int id, void *shared)
{
	long *counts = shared;
	long done = 0;
	while (goes_on())
		done += cf_slot_add_within(slots, 1, INT32_MAX) == CF_SLOT_DONE;
	counts[id] = done;
}

static void close_and_take(int id, void *shared)
{
	long *counts = shared, taken = 0;
	if (id) {
		add_or_miss(id, shared);
		return;
	}
	for (long i = 0; i < scaled(2000) || taken == 0; i++) {
		int64_t before;
		open_all(0);
		cf_cpu_fence(-1);
		before = sum();
		for (int look = 0; look < 20; look++)
			CHECK_EQUAL(sum(), before);
		for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
			taken += cf_slot_delta_take(&slots[cpu]);
		open_all(-1);
	}
	__atomic_store_n(&closed_for_good, 1, __ATOMIC_RELAXED);
	counts[0] = taken;
}

TEST("a closed slot stays closed")
{
	long counts[6] = { 0 }, added = 0;
	closed_for_good = 0;
	slots = cf_slots_new();
	open_all(-1);
	crew_run(6, true, close_and_take, counts);
	for (int i = 1; i < 6; i++)
		added += counts[i];
	CHECK_EQUAL(counts[0] + sum(), added);
	CHECK(counts[0] > 0);
	cf_slots_free(slots);
}

#if CF_BUILT_RSEQ
static uint32_t stop;

// An update that takes its time between the look at the permit and the store: what a fence is for.
static void slow_sequences(void)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "cmpl $0, 4(%%rax)\n\t"
					     "je %l[full]\n\t"
					     "movl (%%rax), %%edx\n\t"
					     "movl $20000, %%ecx\n"
					     "5:\n\t"
					     "decl %%ecx\n\t"
					     "jnz 5b\n\t"
					     "incl %%edx\n\t"
					     "movl %%edx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : moved, full);
	return;
moved:
full:
	sched_yield();
}

static void slow_update_or_close(int id, void *shared)
{
	(void)shared;
	while (id && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
		slow_sequences();
	for (long i = 0; i < scaled(500) && !id; i++) {
		int64_t before;
		open_all(0);
		cf_cpu_fence(i & 1 ? -1 : 0);
		if (!(i & 1))
			for (uint32_t cpu = 1; cpu < cf_cpu_count(); cpu++)
				cf_cpu_fence((int)cpu);
		before = sum();
		usleep(10);
		CHECK_EQUAL(sum(), before);
		open_all(-1);
		usleep(20);
	}
	if (!id)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST("a fence ends sequences that looked at the permit long ago")
{
	if (cf_cpu_state.mode != CF_CPU_RSEQ)
		return;
	stop = 0;
	slots = cf_slots_new();
	open_all(-1);
	crew_run(3, false, slow_update_or_close, NULL);
	CHECK(sum() > 0);
	cf_slots_free(slots);
}
#endif

static int64_t totals(void)
{
	uint64_t sum = 0;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		sum += cf_slot_word_load(&slots[cpu]);
	return (int64_t)sum;
}

// Takes and gives within its CPU's credit, or closes, looks that all stand still, and moves bases.
static void count_or_close(int id, void *shared)
{
	long *counts = shared, done = 0;
	while (id && goes_on())
		done += cf_slot_add_credit(slots, 1) == CF_SLOT_DONE;
	for (long i = 0; !id && (i < scaled(2000) || totals() == 0); i++) {
		int64_t before;
		open_all_credit(0);
		cf_cpu_fence(-1);
		before = totals();
		for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++) {
			CHECK(cf_slot_credit(&slots[cpu]) >= 0 && cf_slot_credit(&slots[cpu]) < 50);
			cf_slot_base_set(&slots[cpu], cf_slot_word_load(&slots[cpu]));
		}
		CHECK_EQUAL(totals(), before);
		open_all_credit(50);
	}
	__atomic_store_n(&closed_for_good, 1, __ATOMIC_RELAXED);
	counts[id] = done;
}

TEST("a slot without credit takes none")
{
	long counts[6] = { 0 }, added = 0;
	closed_for_good = 0;
	slots = cf_slots_new();
	open_all_credit(50);
	crew_run(6, true, count_or_close, counts);
	for (int i = 1; i < 6; i++)
		added += counts[i];
	CHECK_EQUAL(totals(), added);
	CHECK(added > 0);
	cf_slots_free(slots);
}

static void rebase_or_count(int id, void *shared)
{
	long *counts = shared, done = 0;
	for (long i = 0; i < scaled(100000); i++) {
		uint32_t cpu = cf_cpu_current();
		uint64_t total = cf_slot_word_load(&slots[cpu]);
		if (id == 0)
			(void)cf_slot_rebase(slots, cpu, total, total - 25);
		else
			done += cf_slot_add_credit(slots, i & 16 ? 3 : -3) == CF_SLOT_DONE ? i & 16 ? 3 : -3 : 0;
		if (id == 1)
			CHECK(cf_slot_rebase(slots, cf_cpu_current(), cf_slot_word_load(&slots[0]) ^ 1u << 30, 0) == CF_SLOT_MOVED);
	}
	counts[id] = done;
}

TEST("a base moves only under a total that stands")
{
	long counts[6] = { 0 }, added = 0;
	slots = cf_slots_new();
	open_all_credit(50);
	crew_run(6, true, rebase_or_count, counts);
	for (int i = 0; i < 6; i++)
		added += counts[i];
	CHECK_EQUAL(totals(), added);
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
		CHECK(cf_slot_credit(&slots[cpu]) >= 0 && cf_slot_credit(&slots[cpu]) < 50);
	cf_slots_free(slots);
}

TEST("a total is carried only as it was looked at")
{
	uint32_t cpu;
	pin(0);
	cpu = cf_cpu_current();
	slots = cf_slots_new();
	CHECK_EQUAL(cf_slot_add_uncarried(slots, 7, 32), CF_SLOT_DONE);
	CHECK_EQUAL(cf_slot_carry(slots, cpu, 6, 0, 9), CF_SLOT_MOVED); // another total
	CHECK_EQUAL(cf_slot_carry(slots, cpu, 7, 1, 9), CF_SLOT_MOVED); // somebody else has carried
	CHECK_EQUAL(cf_slot_carry(slots, cpu + 1, 0, 0, 9), cpu + 1 < cf_cpu_count() && cf_cpu_state.mode == CF_CPU_RSEQ ?
			    CF_SLOT_MOVED : CF_SLOT_DONE); // another CPU's
	CHECK_EQUAL(cf_slot_word_load(&slots[cpu]), 7);
	CHECK_EQUAL(cf_slot_carry(slots, cpu, 7, 0, 9), CF_SLOT_DONE);
	CHECK_EQUAL(cf_slot_word_load(&slots[cpu]), 9);
	CHECK_EQUAL(cf_slot_carried(&slots[cpu]), 9);
	cf_slots_free(slots);
	unpin();
}

// On the CPU that this thread stays on: credit is not spread.
static int pinned_credit(int64_t n)
{
	pin(0);
	return cf_slot_add_credit(slots, n);
}

TEST("amounts of any size are refused or exact")
{
	const int64_t huge[] = { INT64_MAX, INT64_MIN, INT64_MAX - 5, INT64_MIN + 5, ((int64_t)1 << 31) + 5, -((int64_t)1 << 31) - 5,
				 (int64_t)1 << 32, -((int64_t)1 << 32), ((int64_t)1 << 32) + 1 };
	slots = cf_slots_new();
	open_all(-1);
	for (int start = -5; start <= 5; start += 5) {
		CHECK_EQUAL(cf_slot_add_within(slots, start, INT32_MAX), CF_SLOT_DONE);
		for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
			CHECK_EQUAL(cf_slot_add_within(slots, huge[i], INT32_MAX), CF_SLOT_FULL);
			CHECK_EQUAL(cf_slot_add_quota(slots, huge[i], INT32_MAX), CF_SLOT_FULL);
		}
		CHECK_EQUAL(sum(), start);
		CHECK_EQUAL(cf_slot_add_within(slots, -start, INT32_MAX), CF_SLOT_DONE);
	}
	open_all(0);
	open_all_credit(INT32_MAX);
	for (int64_t start = 0; start < INT32_MAX; start += INT32_MAX - 1) {
		CHECK_EQUAL(pinned_credit(start), CF_SLOT_DONE);
		for (size_t i = 0; i < sizeof huge / sizeof *huge; i++)
			CHECK_EQUAL(cf_slot_add_credit(slots, huge[i]), CF_SLOT_FULL);
		CHECK_EQUAL(pinned_credit(-start), CF_SLOT_DONE);
	}
	unpin();
	CHECK_EQUAL(sum(), 0);
	cf_slots_free(slots);
}

TEST("bounds are the ones that were asked for")
{
	slots = cf_slots_new();
	CHECK_EQUAL(cf_slot_add_within(slots, 1, 32), CF_SLOT_FULL); // new slots are closed
	open_all(INT32_MAX);
	CHECK_EQUAL(cf_slot_add_within(slots, 0, 0), CF_SLOT_FULL);
	CHECK_EQUAL(cf_slot_add_within(slots, 32, 32), CF_SLOT_FULL);
	CHECK_EQUAL(cf_slot_add_within(slots, -32, 32), CF_SLOT_FULL);
	CHECK_EQUAL(cf_slot_add_within(slots, 31, 32), CF_SLOT_DONE);
	CHECK_EQUAL(cf_slot_add_within(slots, -31, 32), CF_SLOT_DONE);
	CHECK_EQUAL(cf_slot_add_quota(slots, 1, 32), CF_SLOT_FULL); // open, but without a quota
	cf_slots_free(slots);
	slots = cf_slots_new();
	open_all_credit(8);
	CHECK_EQUAL(cf_slot_add_credit(slots, 7), CF_SLOT_DONE);
	cf_slots_free(slots);
	slots = cf_slots_new();
	open_all_credit(8);
	CHECK_EQUAL(cf_slot_add_credit(slots, -1), CF_SLOT_FULL);
	CHECK_EQUAL(cf_slot_add_credit(slots, 8), CF_SLOT_FULL);
	CHECK_EQUAL(sum(), 0);
	cf_slots_free(slots);
}

TEST("the fallback cannot be chosen while slots exist")
{
	slots = cf_slots_new();
	CHECK_EQUAL(cf_cpu_use_atomics(), -EBUSY);
	cf_slots_free(slots);
}

HARNESS_MAIN
