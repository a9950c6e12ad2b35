/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_cpu.h: per-CPU slots that their CPU updates without atomic instructions.
 *
 * Choose it to build a per-CPU structure of your own; to count, use one of the counters.
 *
 * Cost: a slot is one line (64 bytes) for each possible CPU. An update by its CPU is a load, a comparison and a
 * store on that line, and a store to the thread's own restartable-sequence area: no atomic, no fence. Without
 * restartable sequences it is one compare-and-swap on that line and a call of sched_getcpu().
 *
 * With restartable sequences there is one additional slot, the last, which is updated by atomic operations. It serves
 * threads without a registered restartable-sequence area (created by clone(2) without libc, or unregistered since), CPUs
 * numbered past the slots (a checkpoint that was restored on a larger host), and threads that are interrupted at every
 * attempt (single-stepped by a debugger). They share this slot: slower, but correct.
 *
 *   operation             may overlap                                    progress
 *   cf_slot_add_*         everything                                     restarts when preempted, a bounded number of times
 *   cf_slot_replace, _carry  everything                                  one attempt
 *   cf_slot_word_load     everything                                     wait-free
 *   cf_slot_rebase        the same; other changes of base and credit_max: no, lock them
 *   cf_slot_permit_set    other permit changes of that slot: no, lock them  lock-free
 *   cf_slot_credit_max_set   the same                                    lock-free; blocks in the atomic mode
 *   cf_slot_base_set      needs a closed slot and a fence before it      the same
 *   cf_slot_delta_take    needs a closed slot and a fence before it      wait-free
 *   cf_cpu_fence          everything                                     a system call that interrupts CPUs; may fail
 *   cf_slots_new, _free   nothing on those slots                         as malloc
 *
 * Ordering:
 *   1. An update of a slot is made on the CPU that the slot belongs to, or is an atomic operation: no update by
 *      another thread is lost between its load and its store.  (tests/cpu.c, "no update is lost")
 *   2. When permit 0 (or credit_max 0) has been written to a slot and cf_cpu_fence(cpu) has returned 0, no cf_slot_add_*
 *      that read the earlier value changes the slot any more.  (tests/cpu.c, "a closed slot stays closed", "a slot without
 *      credit takes none")
 *   3. Updates are relaxed: they order no other data. Callers that need an order must provide it.
 *
 * Lifetime: slots are zeroed, so closed, until their user opens them. Do not dlclose a module that
 * ran an inline update: the kernel may still read the descriptor of its sequence (struct rseq_cs).
 *
 * Five lines:
 *   struct cf_slot *slots = cf_slots_new();
 *   for (cpu = 0; cpu < cf_slot_count(); cpu++) cf_slot_permit_set(&slots[cpu], -1);
 *   if (cf_slot_add_within(slots, 1, 32) != CF_SLOT_DONE) fold_somehow();
 *
 * Source: rseq(2) and membarrier(2); the fence for restartable sequences is MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ
 * (Linux 5.10). On a kernel without it, compare-and-swap is used.
 */
#ifndef COREFOLD_CF_CPU_H
#define COREFOLD_CF_CPU_H

#include <corefold/cf_shim.h>

CF_EXTERN_BEGIN

/* How slots are updated in this process. */
enum cf_cpu_mode {
	CF_CPU_ATOMIC = 0,    /* compare-and-swap, the CPU from sched_getcpu() */
	CF_CPU_RSEQ = 1,      /* restartable sequences, fenced by membarrier */
	CF_CPU_SIMULATED = 2, /* in simulation: code without hooks is atomic */
};

/*
 * One CPU's part, in one of three forms; the rest of the line is the user's own, and the CPU that owns the slot should
 * be the one that writes it.
 *   delta and permit in the first word: `delta` is written by its CPU, `permit` by the holder of the user's lock.
 *   total, carried   the first word is a total, and own[0] how much of it the owner has passed on; both change as one.
 *   credit           the first word is a total, of 64 bits that wrap, which only its CPU changes. total - base is the
 *                    credit, between 0 and credit_max; base and credit_max are written under the user's lock.
 * The last form is for sums without a lock: when credit moves between slots and user, no total changes.
 */
struct cf_slot {
	union {
		uint64_t word;
		struct {
			int32_t delta; /* low half of the word: x86-64 and other little-endian machines */
			int32_t permit;  /* 0 is closed; else as the operation says */
		} part;
	} u;
	uint64_t own[CF_LINE / 8 - 1];
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_slot) == CF_LINE, "a slot is one line");
CF_STATIC_ASSERT(offsetof(struct cf_slot, own) == 8, "a slot's word is its first 8 bytes");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cf_slot's word is split for little-endian machines"
#endif

/* In own[]: what the forms need. `busy` locks a slot that atomic operations change, where several words change as one. */
enum { CF_SLOT_BASE = 0, CF_SLOT_CARRIED = 0, CF_SLOT_CREDIT_MAX = 1, CF_SLOT_BUSY = 2, CF_SLOT_OWN = 3 };

/* Decided once, before main or the first slot; written afterwards by cf_cpu_use_atomics alone. Read on every fast path. */
struct cf_cpu_state {
	ptrdiff_t rseq_offset; /* of an area that says the CPU, from the thread pointer; or of one that says "none" */
	int32_t mode;          /* enum cf_cpu_mode */
	uint32_t cpus;         /* 0: not decided yet */
	uint32_t slots;        /* cpus, plus one with restartable sequences */
};
extern struct cf_cpu_state cf_cpu_state;

/* Initialises the mode, if not done yet: for constructors that run before the kit's. cf_slots_new calls it, too. */
void cf_cpu_start(void);

/* Possible CPUs: 1 more than the highest number that a CPU of this machine can ever have. */
static inline uint32_t cf_cpu_count(void)
{
	if (CF_UNLIKELY(!cf_cpu_state.cpus))
		cf_cpu_start();
	return cf_cpu_state.cpus;
}

/* How many slots cf_slots_new makes. Wait-free; 0 before cf_cpu_start. */
static inline uint32_t cf_slot_count(void)
{
	return cf_cpu_state.slots;
}

/* The slot of the CPU that this thread ran on a moment ago; below cf_slot_count(). Wait-free. */
uint32_t cf_cpu_current(void);

/*
 * Switches to compare-and-swap, as without restartable sequences: for tests, and for programs that dlclose.
 * Returns 0, or -EBUSY if slots exist. Must not overlap any other call of the kit.
 */
int cf_cpu_use_atomics(void);

/* cf_slot_count() zeroed slots; null when there is no memory. cf_slots_free(null) does nothing. */
struct cf_slot *cf_slots_new(void);
void cf_slots_free(struct cf_slot *slots);

/*
 * When it has returned 0, no update that began on `cpu` before the call stores any more (ordering 2). `cpu` -1 means all
 * CPUs. Returns -errno if the kernel refuses membarrier(2), as under a seccomp filter that the program has set since it
 * started, or lacks memory for it; then updates may still be under way. In atomic mode and in simulation, where updates
 * are atomic, it is a memory fence and returns 0.
 */
int cf_cpu_fence(int cpu);

enum cf_slot_result {
	CF_SLOT_DONE = 0,
	CF_SLOT_FULL = 1,  /* the result would be out of bounds, or the slot is closed: nothing was changed */
	CF_SLOT_MOVED = 2, /* the thread changed CPUs, or cannot use sequences: nothing was changed */
};

static inline uint64_t cf_slot_word_load(const struct cf_slot *slot)
{
	/* Relaxed: the value alone is wanted; locks and fences of the caller order it. */
	return __atomic_load_n(&slot->u.word, __ATOMIC_RELAXED);
}

static inline int32_t cf_slot_delta(uint64_t word)
{
	return (int32_t)(uint32_t)word;
}

static inline int32_t cf_slot_permit(uint64_t word)
{
	return (int32_t)(uint32_t)(word >> 32);
}

static inline uint64_t cf_slot_word(int32_t delta, int32_t permit)
{
	return (uint64_t)(uint32_t)delta | (uint64_t)(uint32_t)permit << 32;
}

/* Changes the permit, from any CPU, and leaves the delta as it is. */
void cf_slot_permit_set(struct cf_slot *slot, int32_t permit);
/* Takes the delta out, from any CPU: only behind permit 0 and a fence. Returns it. */
int32_t cf_slot_delta_take(struct cf_slot *slot);

static inline uint64_t cf_slot_base(const struct cf_slot *slot)
{
	return __atomic_load_n(&slot->own[CF_SLOT_BASE], __ATOMIC_RELAXED); /* relaxed: as cf_slot_word_load */
}

static inline int32_t cf_slot_credit_max(const struct cf_slot *slot)
{
	return (int32_t)__atomic_load_n(&slot->own[CF_SLOT_CREDIT_MAX], __ATOMIC_RELAXED); /* relaxed: the same */
}

/* The credit that the slot has; stable only under the lock that base is written under. */
static inline int32_t cf_slot_credit(const struct cf_slot *slot)
{
	return (int32_t)(int64_t)(cf_slot_word_load(slot) - cf_slot_base(slot));
}

/* The credit's maximum, from any CPU; 0 closes the slot. It is set after the base that it is for. */
void cf_slot_credit_max_set(struct cf_slot *slot, int32_t max);
/* The base, from any CPU: only behind credit_max 0 and a fence. */
void cf_slot_base_set(struct cf_slot *slot, uint64_t base);

/*
 * The delta of this CPU's slot is changed by n:
 *   _within    if |delta + n| < batch & permit                    (permit: a mask; batch >= 0)
 *   _quota     if |delta + n| < batch & (permit's sign, spread)   (only permits below 0 let it pass)
 * The total of this CPU's slot is changed by n:
 *   _credit    if 0 <= total + n - base < credit_max
 *   _uncarried if |total + n - carried| < batch                 (batch >= 1)
 * Amounts of any size are safe: one that does not fit returns CF_SLOT_FULL. They retry instead of returning CF_SLOT_MOVED.
 */
int cf_slot_add_within_slow(struct cf_slot *slots, int64_t n, int32_t batch);
int cf_slot_add_quota_slow(struct cf_slot *slots, int64_t n, int32_t batch);
int cf_slot_add_credit_slow(struct cf_slot *slots, int64_t n);
int cf_slot_add_uncarried_slow(struct cf_slot *slots, int64_t n, int32_t batch);

static inline uint64_t cf_slot_carried(const struct cf_slot *slot)
{
	return __atomic_load_n(&slot->own[CF_SLOT_CARRIED], __ATOMIC_RELAXED); /* relaxed: cf_slot_carry looks again */
}

/*
 * If this thread runs on `cpu` (or shares slot `cpu`) and its slot's delta is `expected`, the delta becomes `desired`:
 * CF_SLOT_DONE, else CF_SLOT_MOVED.
 */
int cf_slot_replace(struct cf_slot *slots, uint32_t cpu, int32_t expected, int32_t desired);
/* The same condition, and if the slot has this total and this carried, both become `to` atomically: results as above. */
int cf_slot_carry(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t carried, uint64_t to);
/* If this thread runs on `cpu` and its slot's total is `total`, the base becomes `base`: results as above. */
int cf_slot_rebase(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t base);

#include <corefold/cf_cpu_paths.h>

static inline int cf_slot_add_within(struct cf_slot *slots, int64_t n, int32_t batch)
{
	int result = cf_slot_within_once(slots, n, batch);
	return CF_LIKELY(result != CF_SLOT_MOVED) ? result : cf_slot_add_within_slow(slots, n, batch);
}

static inline int cf_slot_add_quota(struct cf_slot *slots, int64_t n, int32_t batch)
{
	int result = cf_slot_quota_once(slots, n, batch);
	return CF_LIKELY(result != CF_SLOT_MOVED) ? result : cf_slot_add_quota_slow(slots, n, batch);
}

static inline int cf_slot_add_uncarried(struct cf_slot *slots, int64_t n, int32_t batch)
{
	int result = cf_slot_uncarried_once(slots, n, batch);
	return CF_LIKELY(result != CF_SLOT_MOVED) ? result : cf_slot_add_uncarried_slow(slots, n, batch);
}

static inline int cf_slot_add_credit(struct cf_slot *slots, int64_t n)
{
	int result = cf_slot_credit_once(slots, n);
	return CF_LIKELY(result != CF_SLOT_MOVED) ? result : cf_slot_add_credit_slow(slots, n);
}

CF_EXTERN_END

#endif
