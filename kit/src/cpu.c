// SPDX-License-Identifier: MIT OR Apache-2.0
// Which way slots are updated in this process, and the ways that are not inline.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <corefold/cf_cpu.h>
#include <corefold/cf_lock.h>

#include "section.h"

#include <errno.h>
#include <pthread.h>
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
__thread uint32_t cf_section_depth, cf_slot_section;
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
	cf_cpu_state.slots = cf_cpu_state.cpus + (mode == CF_CPU_RSEQ);
	cf_cpu_state.rseq_offset = mode == CF_CPU_ATOMIC ?
		(char *)&unregistered - (char *)__builtin_thread_pointer() : __rseq_offset;
}

// A sanitised library takes no sequences.
static void choose(void)
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

// Early, so that threads find it done; constructors that run earlier get here by cf_slots_new.
__attribute__((constructor(101))) void cf_cpu_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, choose);
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
#if CF_BUILT_RSEQ
	if (cf_cpu_state.mode == CF_CPU_RSEQ) {
		uint32_t own = cf_cpu_hint();
		return own < cf_cpu_state.cpus ? own : cf_cpu_state.cpus;
	}
#endif
#if CF_BUILT_RSEQ || CF_BUILT_SIMULATED
	if (cf_cpu_state.mode == CF_CPU_SIMULATED)
		return cf_cpu_hint();
#endif
	// A CPU that the kernel did not list, or no answer at all: any slot will do, since updates are atomic.
	cpu = sched_getcpu();
	return cpu < 0 ? 0 : (uint32_t)cpu % cf_cpu_state.cpus;
}

struct cf_slot *cf_slots_new(void)
{
	struct cf_slot *slots;
	cf_cpu_start();
	slots = aligned_alloc(CF_LINE, cf_slot_count() * sizeof(struct cf_slot));
	if (!slots)
		return NULL;
	for (uint32_t cpu = 0; cpu < cf_slot_count(); cpu++)
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

// ThreadSanitizer knows no fences, and the lab is built as for it: there a locked operation on a word of this thread,
// whose order x86 cannot tell (a locked operation is a full fence there). In a native build the fence is an instruction.
static void memory_fence(void)
{
#if CF_BUILT_SANITISED || CF_BUILT_SIMULATED
	uint32_t own = 0;
	__atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

int cf_cpu_fence(int cpu)
{
	// Every update is one atomic instruction, or code without a hook: nothing is ever half done.
	if (cf_cpu_state.mode != CF_CPU_RSEQ) {
		memory_fence();
		return 0;
	}
	// A CPU that is not online fails with EINVAL or does nothing: then all of them.
	if (cpu >= 0 && (uint32_t)cpu < cf_cpu_count() && membarrier(MEMBARRIER_RSEQ, MEMBARRIER_FLAG_CPU, cpu) == 0)
		return 0;
	return membarrier(MEMBARRIER_RSEQ, 0, 0) == 0 ? 0 : -errno;
}

void cf_slot_permit_set(struct cf_slot *slot, int32_t permit)
{
	uint64_t old = cf_slot_word_load(slot);
	// Sequentially consistent: permit before fence before take. An owner's sequence stores 4 bytes of delta
	// beside this; the read-modify-write keeps them. In the lab a store would become visible late. x86 cannot
	// tell the order, here and in the two functions below: a locked operation is a full fence there. arm64 and RISC-V
	// need it.
	while (!__atomic_compare_exchange_n(&slot->u.word, &old, cf_slot_word(cf_slot_delta(old), permit), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

int32_t cf_slot_delta_take(struct cf_slot *slot)
{
	uint64_t old = cf_slot_word_load(slot);
	// Sequentially consistent: after the fence. Pairs with the update's compare-and-swap in the atomic mode. x86 cannot
	// tell, as above.
	while (!__atomic_compare_exchange_n(&slot->u.word, &old, cf_slot_word(0, cf_slot_permit(old)), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return cf_slot_delta(old);
}

// Beside sequences the last slot alone is changed by atomic operations; without, every slot.
static bool is_atomic(uint32_t cpu)
{
	return cf_cpu_state.mode == CF_CPU_ATOMIC || cpu >= cf_cpu_count();
}

// Where atomic operations change several words as one, and for changes of credit_max and base: the slot's lock. Every holder is
// about to drop it. In the lab code without hooks does the same.
static void slot_lock(struct cf_slot *slot)
{
	if (cf_cpu_state.mode == CF_CPU_SIMULATED)
		return;
	// For a signal handler, which sees the compiler's order: tests cannot tell, as no compiler of today moves these stores.
	__atomic_store_n(&cf_slot_section, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	// Acquire: after the last holder's release in slot_unlock. x86 cannot tell, here and there; arm64 and RISC-V need both.
	CF_LOCK_WAIT_UNTIL(!__atomic_exchange_n(&slot->own[CF_SLOT_BUSY], 1, __ATOMIC_ACQUIRE));
}

static void slot_unlock(struct cf_slot *slot)
{
	if (cf_cpu_state.mode == CF_CPU_SIMULATED)
		return;
	__atomic_store_n(&slot->own[CF_SLOT_BUSY], 0, __ATOMIC_RELEASE); // release: this section before the next; x86 cannot tell
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&cf_slot_section, 0, __ATOMIC_RELAXED);
}

void cf_slot_credit_max_set(struct cf_slot *slot, int32_t max)
{
	slot_lock(slot);
	// Sequentially consistent, and a read-modify-write: credit_max 0 before the fence before what the closer reads; the
	// base before a credit_max that opens the slot. x86 cannot tell, as above.
	__atomic_exchange_n(&slot->own[CF_SLOT_CREDIT_MAX], (uint64_t)(uint32_t)max, __ATOMIC_SEQ_CST);
	slot_unlock(slot);
}

void cf_slot_base_set(struct cf_slot *slot, uint64_t base)
{
	// Relaxed: the slot is closed, and the credit_max that opens it comes after. In the lab a store would be seen late.
	__atomic_exchange_n(&slot->own[CF_SLOT_BASE], base, __ATOMIC_RELAXED);
}

// One atomic update with bounds on |delta + n|.
static int atomic_add(struct cf_slot *slot, int64_t n, int32_t bound_mask, bool quota)
{
	uint64_t word = cf_slot_word_load(slot);
	for (;;) {
		int32_t permit = cf_slot_permit(word);
		int64_t sum = (int64_t)((uint64_t)(int64_t)cf_slot_delta(word) + (uint64_t)n);
		uint64_t size = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
		uint32_t bound = (uint32_t)(quota ? (permit < 0 ? bound_mask : 0) : permit & bound_mask);
		if (size >= bound)
			return CF_SLOT_FULL;
		// Relaxed: only the word itself is changed; a permit that was closed in between fails it.
		if (__atomic_compare_exchange_n(&slot->u.word, &word, cf_slot_word((int32_t)sum, permit), true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return CF_SLOT_DONE;
	}
}

// More failures in a row than preemption makes: something interrupts this thread at every try.
enum { TRIES = 100 };

// Whether another try of a sequence may succeed.
static bool try_again(int tries)
{
	return tries < TRIES && !is_atomic(cf_cpu_current());
}

// For a thread that has given up on its CPU's slot. In the lab that one is as good as any: no update is ever half done.
static struct cf_slot *slot_for_atomics(struct cf_slot *slots)
{
	return &slots[cf_cpu_state.mode == CF_CPU_RSEQ ? cf_cpu_count() : cf_cpu_current()];
}

int cf_slot_add_within_slow(struct cf_slot *slots, int64_t n, int32_t batch)
{
	for (int tries = 0; try_again(tries); tries++) {
		int result = cf_slot_within_once(slots, n, batch);
		if (result != CF_SLOT_MOVED)
			return result;
	}
	return atomic_add(slot_for_atomics(slots), n, batch, false);
}

int cf_slot_add_quota_slow(struct cf_slot *slots, int64_t n, int32_t batch)
{
	for (int tries = 0; try_again(tries); tries++) {
		int result = cf_slot_quota_once(slots, n, batch);
		if (result != CF_SLOT_MOVED)
			return result;
	}
	return atomic_add(slot_for_atomics(slots), n, batch, true);
}

static int locked_credit(struct cf_slot *slot, int64_t n)
{
	uint64_t total;
	bool fits;
	if (cf_slot_section_inside()) // a signal handler: its own thread may be what it would wait for
		return CF_SLOT_FULL;
	slot_lock(slot);
	total = cf_slot_word_load(slot) + (uint64_t)n;
	fits = total - cf_slot_base(slot) < (uint64_t)cf_slot_credit_max(slot);
	if (fits)
		__atomic_store_n(&slot->u.word, total, __ATOMIC_RELAXED); // relaxed: the slot's lock orders
	slot_unlock(slot);
	return fits ? CF_SLOT_DONE : CF_SLOT_FULL;
}

int cf_slot_add_credit_slow(struct cf_slot *slots, int64_t n)
{
	for (int tries = 0; try_again(tries); tries++) {
		int result = cf_slot_credit_once(slots, n);
		if (result != CF_SLOT_MOVED)
			return result;
	}
	return locked_credit(slot_for_atomics(slots), n);
}

static int locked_uncarried(struct cf_slot *slot, int64_t n, int32_t batch)
{
	uint64_t total, most = (uint64_t)batch - 1;
	bool fits;
	if (cf_slot_section_inside()) // a signal handler: its own thread may be what it would wait for
		return CF_SLOT_FULL;
	slot_lock(slot);
	total = cf_slot_word_load(slot) + (uint64_t)n;
	fits = total - cf_slot_carried(slot) + most <= 2 * most;
	if (fits)
		__atomic_store_n(&slot->u.word, total, __ATOMIC_RELAXED); // relaxed: the slot's lock orders
	slot_unlock(slot);
	return fits ? CF_SLOT_DONE : CF_SLOT_FULL;
}

int cf_slot_add_uncarried_slow(struct cf_slot *slots, int64_t n, int32_t batch)
{
	for (int tries = 0; try_again(tries); tries++) {
		int result = cf_slot_uncarried_once(slots, n, batch);
		if (result != CF_SLOT_MOVED)
			return result;
	}
	return locked_uncarried(slot_for_atomics(slots), n, batch);
}

int cf_slot_replace(struct cf_slot *slots, uint32_t cpu, int32_t expected, int32_t desired)
{
	uint64_t word;
	if (!is_atomic(cpu))
		return cf_slot_replace_once(slots, cpu, expected, desired);
	word = cf_slot_word_load(&slots[cpu]);
	// Relaxed: the word alone, as in atomic_add.
	while (cf_slot_delta(word) == expected)
		if (__atomic_compare_exchange_n(&slots[cpu].u.word, &word, cf_slot_word(desired, cf_slot_permit(word)),
						true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return CF_SLOT_DONE;
	return CF_SLOT_MOVED;
}

int cf_slot_carry(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t carried, uint64_t to)
{
	bool still;
	if (!is_atomic(cpu))
		return cf_slot_carry_once(slots, cpu, total, carried, to);
	slot_lock(&slots[cpu]);
	still = cf_slot_word_load(&slots[cpu]) == total && cf_slot_carried(&slots[cpu]) == carried;
	if (still) { // relaxed: the slot's lock orders
		__atomic_store_n(&slots[cpu].u.word, to, __ATOMIC_RELAXED);
		__atomic_store_n(&slots[cpu].own[CF_SLOT_CARRIED], to, __ATOMIC_RELAXED);
	}
	slot_unlock(&slots[cpu]);
	return still ? CF_SLOT_DONE : CF_SLOT_MOVED;
}

int cf_slot_rebase(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t base)
{
	bool still;
	if (!is_atomic(cpu))
		return cf_slot_rebase_once(slots, cpu, total, base);
	slot_lock(&slots[cpu]);
	still = cf_slot_word_load(&slots[cpu]) == total;
	if (still)
		__atomic_store_n(&slots[cpu].own[CF_SLOT_BASE], base, __ATOMIC_RELAXED); // relaxed: the slot's lock orders
	slot_unlock(&slots[cpu]);
	return still ? CF_SLOT_DONE : CF_SLOT_MOVED;
}
