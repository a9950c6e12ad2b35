/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * section.h: whether this thread is inside of one of the kit's locked sections. A call that finds its thread inside is
 * in a signal handler that interrupted a section; taking a lock could wait for its own thread for ever. It gets -EDEADLK.
 */
#ifndef KIT_SRC_SECTION_H
#define KIT_SRC_SECTION_H

#include <corefold/cf_lock.h>

#pragma GCC visibility push(hidden)

extern __thread uint32_t cf_section_depth __attribute__((tls_model("initial-exec")));
/* The same for the lock of a slot (cpu.c), which is taken inside and outside of sections. */
extern __thread uint32_t cf_slot_section __attribute__((tls_model("initial-exec")));

static inline bool cf_slot_section_inside(void)
{
	return __atomic_load_n(&cf_slot_section, __ATOMIC_RELAXED) != 0; /* relaxed: this thread's own, as all here */
}

static inline bool cf_section_inside(void)
{
	return __atomic_load_n(&cf_section_depth, __ATOMIC_RELAXED) != 0 || cf_slot_section_inside();
}

/* Before a lock is taken; the signal fences keep the compiler's order, which is all that a handler
 * sees. Tests cannot tell: no compiler of today moves these stores. */
static inline void cf_section_enter(void)
{
	__atomic_store_n(&cf_section_depth, cf_section_depth + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* After it was dropped. */
static inline void cf_section_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&cf_section_depth, cf_section_depth - 1, __ATOMIC_RELAXED);
}

/* A lock with both. False: nothing was taken. */
static inline bool cf_section_begin(struct cf_lock *lock, struct cf_lock_node *node)
{
	if (cf_section_inside())
		return false;
	cf_section_enter();
	cf_lock_take(lock, node);
	return true;
}

static inline void cf_section_end(struct cf_lock *lock, struct cf_lock_node *node)
{
	cf_lock_drop(lock, node);
	cf_section_leave();
}

#pragma GCC visibility pop

#endif
