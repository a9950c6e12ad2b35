// SPDX-License-Identifier: MIT OR Apache-2.0
// Which way slots are updated in this process, and the ways that are not inline.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// membarrier(2)'s commands, by number: the headers of old kernels lack the newer ones.
#define MEMBARRIER_QUERY 0
#define MEMBARRIER_RSEQ (1 << 7)
#define MEMBARRIER_REGISTER_RSEQ (1 << 8)
#define MEMBARRIER_FLAG_CPU 1

// glibc's, from 2.35 on; elsewhere null.
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
// The lab's; null outside of it.
extern void corefold_access(const void *address, size_t bytes, int kind) __attribute__((weak));

// An area as rseq(2) has it that says "not registered": sequences check the CPU's number there, and give up.
static __thread struct {
	uint32_t cpu_id_start;
	int32_t cpu_id;
	uint64_t rseq_cs;
	uint64_t rest[2];
} unregistered __attribute__((tls_model("initial-exec"), aligned(32))) = { 0, -1, 0, { 0, 0 } };

struct cf_cpu_state cf_cpu_state;
static uint32_t slots_in_use;

static long membarrier(int command, unsigned flags, int cpu)
{
	return syscall(SYS_membarrier, command, flags, cpu);
}

// The kernel's list of CPUs that may ever be, as "0-79" or "0,2-5": its last number plus one; 0 if unreadable.
static uint32_t listed_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned number = 0, last = 0;
	bool any = false;
	if (!file)
		return 0;
	while (fscanf(file, "%u%*[-,]", &number) == 1) {
		last = number > last ? number : last;
		any = true;
	}
	fclose(file);
	return any ? last + 1 : 0;
}

// Too many cost memory; too few would be written past their end.
static uint32_t possible_cpus(bool simulated)
{
	enum { WHEN_NOBODY_SAYS = 1024 };
	long configured = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t listed = simulated ? 0 : listed_cpus();
	if (simulated && configured > 0)
		return (uint32_t)configured;
	if (!listed)
		listed = WHEN_NOBODY_SAYS;
	return configured > (long)listed ? (uint32_t)configured : listed;
}

static bool registered_by_libc(void)
{
	enum { UP_TO_RSEQ_CS = 16 };
	return &__rseq_size && &__rseq_offset && __rseq_size >= UP_TO_RSEQ_CS;
}

static bool fence_for_sequences(void)
{
	long commands = membarrier(MEMBARRIER_QUERY, 0, 0);
	return commands > 0 && (commands & MEMBARRIER_RSEQ) && membarrier(MEMBARRIER_REGISTER_RSEQ, 0, 0) == 0;
}

static void use_mode(enum cf_cpu_mode mode)
{
	cf_cpu_state.mode = mode;
	cf_cpu_state.rseq_offset = mode == CF_CPU_ATOMIC ?
		(char *)&unregistered - (char *)__builtin_thread_pointer() : __rseq_offset;
}

// Early, so that constructors of the program's own can count. A sanitised library takes no sequences.
__attribute__((constructor(101))) static void choose(void)
{
	bool simulated = corefold_access != NULL;
	enum cf_cpu_mode mode = CF_CPU_ATOMIC;
	cf_cpu_state.cpus = possible_cpus(simulated);
	if (!CF_BUILT_SANITISED && registered_by_libc()) {
		if (simulated)
			mode = CF_CPU_SIMULATED;
		else if (CF_BUILT_RSEQ && fence_for_sequences())
			mode = CF_CPU_RSEQ;
	}
	use_mode(mode);
}

int cf_cpu_use_atomics(void)
{
	if (__atomic_load_n(&slots_in_use, __ATOMIC_RELAXED)) // relaxed: the caller keeps others out
		return -EBUSY;
	use_mode(CF_CPU_ATOMIC);
	return 0;
}

uint32_t cf_cpu_current(void)
{
	int cpu;
#if CF_BUILT_RSEQ || CF_BUILT_SIMULATED
	if (cf_cpu_state.mode != CF_CPU_ATOMIC)
		return cf_cpu_hint();
#endif
	// A CPU that the kernel did not list, or no answer at all: any slot will do, since updates are atomic.
	cpu = sched_getcpu();
	return cpu < 0 ? 0 : (uint32_t)cpu % cf_cpu_state.cpus;
}

struct cf_slot *cf_slots_new(void)
{
	size_t bytes = (size_t)cf_cpu_state.cpus * sizeof(struct cf_slot);
	struct cf_slot *slots = aligned_alloc(CF_LINE, bytes);
	if (!slots)
		return NULL;
	for (uint32_t cpu = 0; cpu < cf_cpu_state.cpus; cpu++)
		slots[cpu] = (struct cf_slot){ .u.word = 0 };
	__atomic_fetch_add(&slots_in_use, 1, __ATOMIC_RELAXED); // relaxed: a count, nothing hangs on it
	return slots;
}

void cf_slots_free(struct cf_slot *slots)
{
	if (!slots)
		return;
	__atomic_fetch_sub(&slots_in_use, 1, __ATOMIC_RELAXED); // relaxed: as above
	free(slots);
}

void cf_cpu_fence(int cpu)
{
	// Every update is one atomic instruction, or code without a hook: ordered with the gate by coherence alone.
	if (cf_cpu_state.mode != CF_CPU_RSEQ)
		return;
	if (cpu >= 0 && membarrier(MEMBARRIER_RSEQ, MEMBARRIER_FLAG_CPU, cpu) == 0)
		return;
	// A CPU that is not online fails with EINVAL or does nothing; all of them cannot fail once registered,
	// but for want of memory inside the kernel.
	while (membarrier(MEMBARRIER_RSEQ, 0, 0) != 0)
		sched_yield();
}

void cf_slot_gate_set(struct cf_slot *slot, int32_t gate)
{
	uint64_t old = cf_slot_word_load(slot);
	// Sequentially consistent: gate before fence before take. An owner's sequence stores 4 bytes of delta
	// beside this; the read-modify-write keeps them. In the lab a store would become visible late.
	while (!__atomic_compare_exchange_n(&slot->u.word, &old, cf_slot_word(cf_slot_delta(old), gate), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

int32_t cf_slot_delta_take(struct cf_slot *slot)
{
	uint64_t old = cf_slot_word_load(slot);
	// Sequentially consistent: after the fence. Pairs with the update's compare-and-swap in the atomic mode.
	while (!__atomic_compare_exchange_n(&slot->u.word, &old, cf_slot_word(0, cf_slot_gate(old)), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return cf_slot_delta(old);
}

// The atomic mode changes three words of a slot with credit as one: its lock. Every holder is about to drop it.
static void slot_lock(struct cf_slot *slot)
{
	if (cf_cpu_state.mode != CF_CPU_ATOMIC)
		return;
	// Acquire: after the last holder's release in slot_unlock.
	CF_LOCK_WAIT_UNTIL(!__atomic_exchange_n(&slot->own[CF_SLOT_BUSY], 1, __ATOMIC_ACQUIRE));
}

static void slot_unlock(struct cf_slot *slot)
{
	if (cf_cpu_state.mode == CF_CPU_ATOMIC)
		__atomic_store_n(&slot->own[CF_SLOT_BUSY], 0, __ATOMIC_RELEASE); // release: this section before the next
}

void cf_slot_cap_set(struct cf_slot *slot, int32_t cap)
{
	slot_lock(slot);
	// Sequentially consistent, and a read-modify-write: cap 0 before fence before what the closer reads; the base
	// before an opening cap.
	__atomic_exchange_n(&slot->own[CF_SLOT_CAP], (uint64_t)(uint32_t)cap, __ATOMIC_SEQ_CST);
	slot_unlock(slot);
}

void cf_slot_base_set(struct cf_slot *slot, uint64_t base)
{
	// Relaxed: the slot is closed, and the cap that opens it comes after. In the lab a store would be seen late.
	__atomic_exchange_n(&slot->own[CF_SLOT_BASE], base, __ATOMIC_RELAXED);
}

// One atomic update with bounds on |delta + n|.
static int atomic_add(struct cf_slot *slot, int64_t n, int32_t bound_mask, bool licensed)
{
	uint64_t word = cf_slot_word_load(slot);
	for (;;) {
		int32_t gate = cf_slot_gate(word);
		int64_t sum = (int64_t)((uint64_t)(int64_t)cf_slot_delta(word) + (uint64_t)n);
		uint64_t size = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
		uint32_t bound = (uint32_t)(licensed ? (gate < 0 ? bound_mask : 0) : gate & bound_mask);
		if (size >= bound)
			return CF_SLOT_FULL;
		// Relaxed: only the word itself is changed; a gate that was closed in between fails it.
		if (__atomic_compare_exchange_n(&slot->u.word, &word, cf_slot_word((int32_t)sum, gate), true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return CF_SLOT_DONE;
	}
}

int cf_slot_add_within_slow(struct cf_slot *slots, int64_t n, int32_t batch)
{
	int result = CF_SLOT_MOVED;
	while (cf_cpu_state.mode != CF_CPU_ATOMIC && result == CF_SLOT_MOVED)
		result = cf_slot_within_once(slots, n, batch);
	return result == CF_SLOT_MOVED ? atomic_add(&slots[cf_cpu_current()], n, batch, false) : result;
}

int cf_slot_add_licensed_slow(struct cf_slot *slots, int64_t n, int32_t batch)
{
	int result = CF_SLOT_MOVED;
	while (cf_cpu_state.mode != CF_CPU_ATOMIC && result == CF_SLOT_MOVED)
		result = cf_slot_licensed_once(slots, n, batch);
	return result == CF_SLOT_MOVED ? atomic_add(&slots[cf_cpu_current()], n, batch, true) : result;
}

static int locked_credit(struct cf_slot *slot, int64_t n)
{
	uint64_t total;
	bool fits;
	slot_lock(slot);
	total = cf_slot_word_load(slot) + (uint64_t)n;
	fits = total - cf_slot_base(slot) < (uint64_t)cf_slot_cap(slot);
	if (fits)
		__atomic_store_n(&slot->u.word, total, __ATOMIC_RELAXED); // relaxed: the slot's lock orders
	slot_unlock(slot);
	return fits ? CF_SLOT_DONE : CF_SLOT_FULL;
}

int cf_slot_add_credit_slow(struct cf_slot *slots, int64_t n)
{
	int result = CF_SLOT_MOVED;
	while (cf_cpu_state.mode != CF_CPU_ATOMIC && result == CF_SLOT_MOVED)
		result = cf_slot_credit_once(slots, n);
	return result == CF_SLOT_MOVED ? locked_credit(&slots[cf_cpu_current()], n) : result;
}

int cf_slot_replace(struct cf_slot *slots, uint32_t cpu, int32_t expected, int32_t desired)
{
	uint64_t word;
	if (cf_cpu_state.mode != CF_CPU_ATOMIC)
		return cf_slot_replace_once(slots, cpu, expected, desired);
	word = cf_slot_word_load(&slots[cpu]);
	// Relaxed: the word alone, as in atomic_add.
	while (cf_slot_delta(word) == expected)
		if (__atomic_compare_exchange_n(&slots[cpu].u.word, &word, cf_slot_word(desired, cf_slot_gate(word)),
						true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return CF_SLOT_DONE;
	return CF_SLOT_MOVED;
}

int cf_slot_replace_long(struct cf_slot *slots, uint32_t cpu, uint64_t expected, uint64_t desired)
{
	if (cf_cpu_state.mode != CF_CPU_ATOMIC)
		return cf_slot_replace_long_once(slots, cpu, expected, desired);
	// Relaxed: the word alone.
	return __atomic_compare_exchange_n(&slots[cpu].u.word, &expected, desired, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? CF_SLOT_DONE : CF_SLOT_MOVED;
}

int cf_slot_rebase(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t base)
{
	bool still;
	if (cf_cpu_state.mode != CF_CPU_ATOMIC)
		return cf_slot_rebase_once(slots, cpu, total, base);
	slot_lock(&slots[cpu]);
	still = cf_slot_word_load(&slots[cpu]) == total;
	if (still)
		__atomic_store_n(&slots[cpu].own[CF_SLOT_BASE], base, __ATOMIC_RELAXED); // relaxed: the slot's lock orders
	slot_unlock(&slots[cpu]);
	return still ? CF_SLOT_DONE : CF_SLOT_MOVED;
}
