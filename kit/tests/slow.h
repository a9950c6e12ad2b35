/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * slow.h: restartable sequences that take microseconds between their look at the slot and their store, where the kit's
 * take a few cycles: what fences are for.
 */
#ifndef KIT_TESTS_SLOW_H
#define KIT_TESTS_SLOW_H

#include <corefold/cf_cpu.h>

#if CF_BUILT_RSEQ
#define SLOW_LOOP                                                                                                      \
	"movl $3000, %%ecx\n"                                                                                          \
	"5:\n\t"                                                                                                       \
	"decl %%ecx\n\t"                                                                                               \
	"jnz 5b\n\t"

/* An attempt on this CPU's slot, whose address is in %rax; results as of the kit's. */
#define SLOW_SEQUENCE(name, body)                                                                                      \
	static int name(struct cf_slot *slots)                                                                         \
	{                                                                                                              \
		__asm__ goto(CF_SEQUENCE(CF_OWN_SLOT body)                                                             \
			     :                                                                                         \
			     : CF_OWN_SLOT_INPUTS                                                                      \
			     : "rax", "rcx", "rdx", "memory", "cc"                                                     \
			     : moved, full);                                                                           \
		CF_SEQUENCE_RESULTS                                                                                    \
	full:                                                                                                          \
		return CF_SLOT_FULL;                                                                                   \
	}
#endif

#endif
