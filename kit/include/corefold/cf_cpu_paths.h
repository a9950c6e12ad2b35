/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cf_cpu_paths.h: one attempt at each update of cf_cpu.h, for the way this translation unit is built. Part of cf_cpu.h,
 * never included alone.
 *
 * A restartable sequence is: tell the kernel where it begins and ends (a store to the thread's area), read the CPU's
 * number and find its slot (or check that the slot is still this CPU's), compute, and store once, as the last
 * instruction. If the thread is preempted or migrated before that store, it continues at the sequence's abort label with
 * nothing changed. A thread without a registered area, and a CPU without a slot, get CF_SLOT_MOVED.
 *
 * In simulation the sequence is correct without the kernel's help: a natively built library has no hooks, and threads
 * are not switched inside code without hooks.
 */
#ifndef COREFOLD_CF_CPU_PATHS_H
#define COREFOLD_CF_CPU_PATHS_H

#ifndef COREFOLD_CF_CPU_H
#error "include <corefold/cf_cpu.h>"
#endif

/* rseq(2)'s area: where the fields are that the kernel's ABI fixes. */
#define CF_RSEQ_CPU_ID 4 /* negative when the thread is not registered */
#define CF_RSEQ_CS 8

#if CF_BUILT_RSEQ

/* The CPU that this thread ran on a moment ago; (uint32_t)-1 or -2 if the thread is not registered. */
static inline uint32_t cf_cpu_hint(void)
{
	uint32_t cpu;
	__asm__ volatile("movl %%fs:%c[id](%[area]), %[cpu]"
			 : [cpu] "=r"(cpu)
			 : [area] "r"(cf_cpu_state.rseq_offset), [id] "i"(CF_RSEQ_CPU_ID));
	return cpu;
}

/*
 * %rax and the registers that the body names are free; it jumps to %l[full] or falls through behind its last store. Only
 * from label 1 on does the kernel restart: what was read before that is checked behind it.
 */
#define CF_SEQUENCE(body)                                                                                              \
	".pushsection __rseq_cs, \"aw?\"\n\t"                                                                          \
	".balign 32\n"                                                                                                 \
	"3:\n\t"                                                                                                       \
	".long 0, 0\n\t"                                                                                               \
	".quad 1f, 2f - 1f, 4f\n\t"                                                                                    \
	".popsection\n\t"                                                                                              \
	"leaq 3b(%%rip), %%rax\n\t"                                                                                    \
	"movq %%rax, %%fs:%c[cs](%[area])\n"                                                                           \
	"1:\n\t" body                                                                                                  \
	"2:\n\t"                                                                                                       \
	".pushsection __rseq_failure, \"ax?\"\n\t"                                                                     \
	".byte 0x0f, 0xb9, 0x3d\n\t" /* an undefined instruction, so that the signature is never run */               \
	".long 0x53053053\n"                                                                                           \
	"4:\n\t"                                                                                                       \
	"jmp %l[moved]\n\t"                                                                                            \
	".popsection\n"

/* What stands behind a sequence. */
#define CF_SEQUENCE_RESULTS                                                                                            \
	return CF_SLOT_DONE;                                                                                           \
	moved:                                                                                                         \
	return CF_SLOT_MOVED;

/* This CPU's slot into %rax. Unsigned: neither a thread without a registration nor a CPU past the slots has one. */
#define CF_OWN_SLOT                                                                                                    \
	"movl %%fs:%c[id](%[area]), %%eax\n\t"                                                                        \
	"cmpl %[cpus], %%eax\n\t"                                                                                     \
	"jae %l[moved]\n\t"                                                                                            \
	"shlq $6, %%rax\n\t"                                                                                           \
	"addq %[slots], %%rax\n\t"

#define CF_OWN_SLOT_INPUTS                                                                                             \
	[area] "r"(cf_cpu_state.rseq_offset), [cpus] "m"(cf_cpu_state.cpus), [slots] "r"(slots), [cs] "i"(CF_RSEQ_CS), \
		[id] "i"(CF_RSEQ_CPU_ID)

/* The slot that the caller looked at is still this CPU's. */
#define CF_STILL_ON_CPU                                                                                                \
	"cmpl %[cpu], %%fs:%c[id](%[area])\n\t"                                                                       \
	"jne %l[moved]\n\t"

#define CF_STILL_ON_CPU_INPUTS                                                                                         \
	[area] "r"(cf_cpu_state.rseq_offset), [cpu] "r"(cpu), [slot] "r"(slot), [cs] "i"(CF_RSEQ_CS),                  \
		[id] "i"(CF_RSEQ_CPU_ID)

/* delta + n into %rdx, stored if its size is below %rcx. Unsigned comparison also refuses what overflowed. */
#define CF_ADD_IF_BELOW                                                                                                \
	"movslq (%%rax), %%rdx\n\t"                                                                                   \
	"addq %[n], %%rdx\n\t"                                                                                         \
	"movq %%rdx, %%rsi\n\t"                                                                                        \
	"negq %%rsi\n\t"                                                                                               \
	"cmovsq %%rdx, %%rsi\n\t"                                                                                      \
	"cmpq %%rcx, %%rsi\n\t"                                                                                        \
	"jae %l[full]\n\t"                                                                                             \
	"movl %%edx, (%%rax)\n"

static inline int cf_slot_within_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "movl 4(%%rax), %%ecx\n\t"
					     "andl %[batch], %%ecx\n\t" CF_ADD_IF_BELOW)
		     :
		     : CF_OWN_SLOT_INPUTS, [n] "er"(n), [batch] "ir"(batch)
		     : "rax", "rcx", "rdx", "rsi", "memory", "cc"
		     : moved, full);
	CF_SEQUENCE_RESULTS
full:
	return CF_SLOT_FULL;
}

static inline int cf_slot_quota_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "movl 4(%%rax), %%ecx\n\t"
					     "sarl $31, %%ecx\n\t"
					     "andl %[batch], %%ecx\n\t" CF_ADD_IF_BELOW)
		     :
		     : CF_OWN_SLOT_INPUTS, [n] "er"(n), [batch] "ir"(batch)
		     : "rax", "rcx", "rdx", "rsi", "memory", "cc"
		     : moved, full);
	CF_SEQUENCE_RESULTS
full:
	return CF_SLOT_FULL;
}

static inline int cf_slot_credit_once(struct cf_slot *slots, int64_t n)
{
	/* A credit below 0 is a huge unsigned number: one comparison is both bounds. The maximum is read first: a slot
	 * that is seen open has the base that it was opened with. Tests cannot tell: nothing can be held inside of a
	 * sequence. */
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "movq 16(%%rax), %%rcx\n\t"
					     "movq (%%rax), %%rdx\n\t"
					     "addq %[n], %%rdx\n\t"
					     "movq %%rdx, %%rsi\n\t"
					     "subq 8(%%rax), %%rsi\n\t"
					     "cmpq %%rcx, %%rsi\n\t"
					     "jae %l[full]\n\t"
					     "movq %%rdx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS, [n] "er"(n)
		     : "rax", "rcx", "rdx", "rsi", "memory", "cc"
		     : moved, full);
	CF_SEQUENCE_RESULTS
full:
	return CF_SLOT_FULL;
}

static inline int cf_slot_uncarried_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	const int64_t most = batch - (int64_t)1;
	/* -most <= total + n - carried <= most, by one unsigned comparison. */
	__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT "movq (%%rax), %%rdx\n\t"
					     "addq %[n], %%rdx\n\t"
					     "movq %%rdx, %%rcx\n\t"
					     "subq 8(%%rax), %%rcx\n\t"
					     "addq %[most], %%rcx\n\t"
					     "cmpq %[width], %%rcx\n\t"
					     "ja %l[full]\n\t"
					     "movq %%rdx, (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS, [n] "er"(n), [most] "er"(most), [width] "er"(2 * most)
		     : "rax", "rcx", "rdx", "memory", "cc"
		     : moved, full);
	CF_SEQUENCE_RESULTS
full:
	return CF_SLOT_FULL;
}

static inline int cf_slot_replace_once(struct cf_slot *slots, uint32_t cpu, int32_t expected, int32_t desired)
{
	struct cf_slot *slot = &slots[cpu];
	__asm__ goto(CF_SEQUENCE(CF_STILL_ON_CPU "cmpl %[expected], (%[slot])\n\t"
						 "jne %l[moved]\n\t"
						 "movl %[desired], (%[slot])\n")
		     :
		     : CF_STILL_ON_CPU_INPUTS, [expected] "r"(expected), [desired] "r"(desired)
		     : "rax", "memory", "cc"
		     : moved);
	CF_SEQUENCE_RESULTS
}

static inline int cf_slot_carry_once(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t carried, uint64_t to)
{
	struct cf_slot *slot = &slots[cpu];
	/* One store of 16 bytes is one instruction: both words change, or neither. */
	__asm__ goto("movq %[to], %%xmm0\n\t"
		     "punpcklqdq %%xmm0, %%xmm0\n\t" CF_SEQUENCE(CF_STILL_ON_CPU "cmpq %[total], (%[slot])\n\t"
									       "jne %l[moved]\n\t"
									       "cmpq %[carried], 8(%[slot])\n\t"
									       "jne %l[moved]\n\t"
									       "movdqa %%xmm0, (%[slot])\n")
		     :
		     : CF_STILL_ON_CPU_INPUTS, [total] "r"(total), [carried] "r"(carried), [to] "r"(to)
		     : "rax", "xmm0", "memory", "cc"
		     : moved);
	CF_SEQUENCE_RESULTS
}

static inline int cf_slot_rebase_once(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t base)
{
	struct cf_slot *slot = &slots[cpu];
	__asm__ goto(CF_SEQUENCE(CF_STILL_ON_CPU "cmpq %[total], (%[slot])\n\t"
						 "jne %l[moved]\n\t"
						 "movq %[base], 8(%[slot])\n")
		     :
		     : CF_STILL_ON_CPU_INPUTS, [total] "r"(total), [base] "r"(base)
		     : "rax", "memory", "cc"
		     : moved);
	CF_SEQUENCE_RESULTS
}

#elif CF_BUILT_SIMULATED

/* The CPU that the simulator wrote into this thread's area, seen as an access of its own. */
static inline uint32_t cf_cpu_hint(void)
{
	const char *area = (const char *)__builtin_thread_pointer() + cf_cpu_state.rseq_offset;
	return *(const volatile uint32_t *)(area + CF_RSEQ_CPU_ID);
}

/*
 * What a sequence does, without hooks. Not visible to the simulation: the callers say what was read and written, and stand
 * in for its instructions.
 */
#define CF_UNHOOKED_ONCE static CF_UNHOOKED __attribute__((unused)) int

/* Whether the thread has been moved away from the CPU. */
#define CF_UNHOOKED_MOVED(cpu)                                                                                         \
	(*(const volatile uint32_t *)((const char *)__builtin_thread_pointer() + cf_cpu_state.rseq_offset +            \
				      CF_RSEQ_CPU_ID) != (cpu))

enum cf_unhooked_kind { CF_UNHOOKED_WITHIN, CF_UNHOOKED_QUOTA };

CF_UNHOOKED_ONCE cf_unhooked_add(struct cf_slot *slot, uint32_t cpu, int64_t n, int32_t batch, enum cf_unhooked_kind kind)
{
	int64_t sum;
	uint64_t size, bound;
	uint64_t word = slot->u.word;
	int32_t permit = (int32_t)(uint32_t)(word >> 32);
	if (CF_UNHOOKED_MOVED(cpu))
		return CF_SLOT_MOVED;
	sum = (int64_t)((uint64_t)(int64_t)(int32_t)(uint32_t)word + (uint64_t)n);
	size = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
	bound = kind == CF_UNHOOKED_WITHIN ? (uint32_t)(batch & permit) : permit < 0 ? (uint32_t)batch : 0;
	if (size >= bound)
		return CF_SLOT_FULL;
	slot->u.part.delta = (int32_t)sum;
	return CF_SLOT_DONE;
}

CF_UNHOOKED_ONCE cf_unhooked_replace(struct cf_slot *slot, uint32_t cpu, int32_t expected, int32_t desired)
{
	if (CF_UNHOOKED_MOVED(cpu) || slot->u.part.delta != expected)
		return CF_SLOT_MOVED;
	slot->u.part.delta = desired;
	return CF_SLOT_DONE;
}

CF_UNHOOKED_ONCE cf_unhooked_uncarried(struct cf_slot *slot, uint32_t cpu, int64_t n, int32_t batch)
{
	uint64_t total = slot->u.word + (uint64_t)n, most = (uint64_t)batch - 1;
	if (CF_UNHOOKED_MOVED(cpu))
		return CF_SLOT_MOVED;
	if (total - slot->own[CF_SLOT_CARRIED] + most > 2 * most)
		return CF_SLOT_FULL;
	slot->u.word = total;
	return CF_SLOT_DONE;
}

CF_UNHOOKED_ONCE cf_unhooked_carry(struct cf_slot *slot, uint32_t cpu, uint64_t total, uint64_t carried, uint64_t to)
{
	if (CF_UNHOOKED_MOVED(cpu) || slot->u.word != total || slot->own[CF_SLOT_CARRIED] != carried)
		return CF_SLOT_MOVED;
	slot->u.word = slot->own[CF_SLOT_CARRIED] = to;
	return CF_SLOT_DONE;
}

CF_UNHOOKED_ONCE cf_unhooked_credit(struct cf_slot *slot, uint32_t cpu, int64_t n)
{
	uint64_t total = slot->u.word + (uint64_t)n;
	if (CF_UNHOOKED_MOVED(cpu))
		return CF_SLOT_MOVED;
	if (total - slot->own[CF_SLOT_BASE] >= slot->own[CF_SLOT_CREDIT_MAX])
		return CF_SLOT_FULL;
	slot->u.word = total;
	return CF_SLOT_DONE;
}

CF_UNHOOKED_ONCE cf_unhooked_rebase(struct cf_slot *slot, uint32_t cpu, uint64_t total, uint64_t base)
{
	if (CF_UNHOOKED_MOVED(cpu) || slot->u.word != total)
		return CF_SLOT_MOVED;
	slot->own[CF_SLOT_BASE] = base;
	return CF_SLOT_DONE;
}

/* As many instructions as the native sequence has that are not seen. */
#define CF_UNSEEN_INSTRUCTIONS() __asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop")

/* One attempt on slot `cpu`: it reads so many bytes from the slot's first on, and may write so many at `written`. */
#define CF_SIMULATE(cpu, bytes_read, attempt, written, bytes_written)                                                  \
	do {                                                                                                           \
		int result_;                                                                                           \
		CF_SEEN_READ(&slots[cpu], bytes_read);                                                                 \
		CF_UNSEEN_INSTRUCTIONS();                                                                              \
		result_ = (attempt);                                                                                   \
		if (result_ == CF_SLOT_DONE)                                                                           \
			CF_SEEN_WRITE(written, bytes_written);                                                         \
		return result_;                                                                                        \
	} while (0)

static inline int cf_slot_within_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	uint32_t cpu;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	cpu = cf_cpu_hint();
	CF_SIMULATE(cpu, 8, cf_unhooked_add(&slots[cpu], cpu, n, batch, CF_UNHOOKED_WITHIN), &slots[cpu], 8);
}

static inline int cf_slot_quota_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	uint32_t cpu;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	cpu = cf_cpu_hint();
	CF_SIMULATE(cpu, 8, cf_unhooked_add(&slots[cpu], cpu, n, batch, CF_UNHOOKED_QUOTA), &slots[cpu], 8);
}

static inline int cf_slot_credit_once(struct cf_slot *slots, int64_t n)
{
	uint32_t cpu;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	cpu = cf_cpu_hint();
	CF_SEEN_READ(&slots[cpu].own[CF_SLOT_BASE], 16);
	CF_SIMULATE(cpu, 8, cf_unhooked_credit(&slots[cpu], cpu, n), &slots[cpu], 8);
}

static inline int cf_slot_uncarried_once(struct cf_slot *slots, int64_t n, int32_t batch)
{
	uint32_t cpu;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	cpu = cf_cpu_hint();
	CF_SIMULATE(cpu, 16, cf_unhooked_uncarried(&slots[cpu], cpu, n, batch), &slots[cpu], 8);
}

static inline int cf_slot_replace_once(struct cf_slot *slots, uint32_t cpu, int32_t expected, int32_t desired)
{
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	CF_SIMULATE(cpu, 8, cf_unhooked_replace(&slots[cpu], cpu, expected, desired), &slots[cpu], 8);
}

static inline int cf_slot_carry_once(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t carried, uint64_t to)
{
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	CF_SIMULATE(cpu, 16, cf_unhooked_carry(&slots[cpu], cpu, total, carried, to), &slots[cpu], 16);
}

static inline int cf_slot_rebase_once(struct cf_slot *slots, uint32_t cpu, uint64_t total, uint64_t base)
{
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return CF_SLOT_MOVED;
	CF_SIMULATE(cpu, 8, cf_unhooked_rebase(&slots[cpu], cpu, total, base), &slots[cpu].own[CF_SLOT_BASE], 8);
}

#else

/* No sequences in this unit: the library decides. */
#define cf_slot_within_once(slots, n, batch) ((void)(slots), (void)(n), (void)(batch), CF_SLOT_MOVED)
#define cf_slot_quota_once(slots, n, batch) cf_slot_within_once(slots, n, batch)
#define cf_slot_uncarried_once(slots, n, batch) cf_slot_within_once(slots, n, batch)
#define cf_slot_credit_once(slots, n) cf_slot_within_once(slots, n, 0)
#define cf_slot_replace_once(slots, cpu, expected, desired) cf_slot_within_once(slots, cpu, ((void)(expected), desired))
#define cf_slot_rebase_once(slots, cpu, total, base) cf_slot_replace_once(slots, cpu, total, base)
#define cf_slot_carry_once(slots, cpu, total, carried, to) cf_slot_replace_once(slots, cpu, ((void)(total), carried), to)

#endif
#endif
