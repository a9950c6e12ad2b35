/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * slab_paths.h: one attempt at each step on this CPU's loaded magazine, as this unit is built: restartable sequences
 * (cf_cpu_paths.h), code without hooks in the lab, or none, then slab.c locks.
 *
 * A sequence reads the gate, the magazine and its word, and stores once, at last: the magazine's word (pop, push), or the
 * pointer to the magazine (swap). So whoever swaps has what was loaded for itself: sequences of other threads on this CPU
 * have ended, or begin again. What push stores before that lies behind the magazine's last object. Another CPU that wants the
 * magazine closes the gate, and waits for the fence (cf_cpu_fence): from then on no sequence changes anything.
 */
#ifndef KIT_SRC_SLAB_PATHS_H
#define KIT_SRC_SLAB_PATHS_H

#include "slab.h"

/* word: how many objects (16 bits); above, how many were popped since it was loaded. Not loaded: the first alone. */
struct cf_slab_magazine {
	uint64_t word;
	struct cf_slab_magazine *next; /* in the depot */
	uint64_t base;                 /* how many objects when it was loaded */
	void *objects[];
};

enum { SLAB_COUNT = 0xffff, SLAB_POP = 0xffff /* one object less, one pop more */ };

struct cf_slab_cpu {
	struct cf_slab_magazine *loaded;   /* by this CPU's sequences; under `lock` where there are none; or behind the gate */
	uint64_t gate;                     /* 1: closed to sequences. By who drains */
	struct cf_slab_magazine *previous; /* by atomic exchanges; may be null, as `loaded` */
	uint64_t allocations, frees;       /* atomic; of magazines that are not loaded any more */
	struct cf_qspin lock;
} CF_LINE_ALIGNED;

CF_STATIC_ASSERT(sizeof(struct cf_slab_cpu) == CF_LINE, "a CPU's part is one line");
CF_STATIC_ASSERT(offsetof(struct cf_slab_cpu, loaded) == 0 && offsetof(struct cf_slab_cpu, gate) == 8 &&
			 offsetof(struct cf_slab_magazine, word) == 0 && offsetof(struct cf_slab_magazine, objects) == 24,
		 "as the sequences have it");

/* Changed under its lock: where there are no sequences, and for threads without them the last. */
static inline bool slab_is_locked(uint32_t cpu)
{
	return cf_cpu_state.mode == CF_CPU_ATOMIC || cpu >= cf_cpu_count();
}

/* Of one that is not loaded. */
static inline uint32_t slab_count_of(const struct cf_slab_magazine *m)
{
	return (uint32_t)m->word;
}

/* Relaxed: statistics read it, too. */
static inline void slab_set_word(struct cf_slab_magazine *m, uint64_t word)
{
	__atomic_store_n(&m->word, word, __ATOMIC_RELAXED);
}

#pragma GCC visibility push(hidden)

/* slab_magazines.c. What an attempt does, however often it takes: SLAB_DONE or SLAB_NONE. */
int slab_pop(struct cf_slab *slab, void **object);
int slab_push(struct cf_slab *slab, void *object);
/* A magazine with objects, or with room, for this thread; null: there is none. */
struct cf_slab_magazine *slab_with_objects(struct cf_slab *slab);
struct cf_slab_magazine *slab_with_room(struct cf_slab *slab);
/* Loads the magazine; what was loaded becomes the previous one. */
void slab_rotate(struct cf_slab *slab, struct cf_slab_magazine *fresh);
/* The magazine is no CPU's any more: what happened to it while it was loaded is counted. */
void slab_settle(struct cf_slab_cpu *cpu, struct cf_slab_magazine *magazine);
/* The CPU's previous magazine for another one. */
struct cf_slab_magazine *slab_exchange(struct cf_slab_cpu *cpu, struct cf_slab_magazine *magazine);
/* Not loaded by any CPU; null is nothing. */
void slab_into_depot(struct cf_slab *slab, struct cf_slab_magazine *magazine);
/* Its objects go back to their slabs. */
void slab_flush(struct cf_slab *slab, struct cf_slab_magazine *magazine);

#pragma GCC visibility pop

/* SLAB_NONE: nothing to pop, no room to push. SLAB_MOVED: as CF_SLOT_MOVED. */
enum { SLAB_DONE = CF_SLOT_DONE, SLAB_NONE = CF_SLOT_FULL, SLAB_MOVED = CF_SLOT_MOVED, SLAB_CLOSED };

#if CF_BUILT_RSEQ

/* A test makes sequences last, to have them interrupted and raced with. */
#ifdef CF_TEST_POINTS
extern uint32_t cf_slab_test_delay;
#define SLAB_DELAY                                                                                                     \
	"movl %[delay], %%esi\n"                                                                                       \
	"5:\n\t"                                                                                                       \
	"subl $1, %%esi\n\t"                                                                                           \
	"jns 5b\n\t"
#define SLAB_DELAY_INPUT , [delay] "m"(cf_slab_test_delay)
#else
#define SLAB_DELAY ""
#define SLAB_DELAY_INPUT
#endif

#define SLAB_OWN                                                                                                       \
	CF_OWN_SLOT "cmpq $0, 8(%%rax)\n\t"                                                                            \
		    "jne %l[closed]\n\t"                                                                               \
		    "movq (%%rax), %%rcx\n\t"

#define SLAB_WORD                                                                                                      \
	"testq %%rcx, %%rcx\n\t"                                                                                       \
	"jz %l[none]\n\t"                                                                                              \
	"movq (%%rcx), %%rdx\n\t"                                                                                      \
	"movzwl %%dx, %%esi\n\t"

#define SLAB_RESULTS                                                                                                   \
	return SLAB_DONE;                                                                                              \
	none:                                                                                                          \
	return SLAB_NONE;                                                                                              \
	moved:                                                                                                         \
	return SLAB_MOVED;                                                                                             \
	closed:                                                                                                        \
	return SLAB_CLOSED;

static inline int slab_pop_once(struct cf_slab *s, void **object)
{
	struct cf_slab_cpu *slots = s->cpus;
	__asm__ goto(CF_SEQUENCE(SLAB_OWN SLAB_WORD "testl %%esi, %%esi\n\t"
						    "jz %l[none]\n\t"
						    "movq 16(%%rcx,%%rsi,8), %%rdi\n\t"
						    "movq %%rdi, (%[to])\n\t" SLAB_DELAY
						    "addq $0xffff, %%rdx\n\t"
						    "movq %%rdx, (%%rcx)\n")
		     :
		     : CF_OWN_SLOT_INPUTS, [to] "r"(object)SLAB_DELAY_INPUT
		     : "rax", "rcx", "rdx", "rsi", "rdi", "memory", "cc"
		     : moved, none, closed);
	SLAB_RESULTS
}

static inline int slab_push_once(struct cf_slab *s, void *object)
{
	struct cf_slab_cpu *slots = s->cpus;
	__asm__ goto(CF_SEQUENCE(SLAB_OWN SLAB_WORD "cmpl %[most], %%esi\n\t"
						    "jae %l[none]\n\t"
						    "movq %[object], 24(%%rcx,%%rsi,8)\n\t" SLAB_DELAY
						    "incq %%rdx\n\t"
						    "movq %%rdx, (%%rcx)\n")
		     :
		     : CF_OWN_SLOT_INPUTS, [object] "r"(object), [most] "r"(s->magazine)SLAB_DELAY_INPUT
		     : "rax", "rcx", "rdx", "rsi", "memory", "cc"
		     : moved, none, closed);
	SLAB_RESULTS
}

static inline int slab_swap_once(struct cf_slab *s, struct cf_slab_magazine *fresh, struct cf_slab_magazine **old)
{
	struct cf_slab_cpu *slots = s->cpus;
	__asm__ goto(CF_SEQUENCE(SLAB_OWN "movq %%rcx, (%[to])\n\t" SLAB_DELAY
					  "movq %[fresh], (%%rax)\n")
		     :
		     : CF_OWN_SLOT_INPUTS, [fresh] "r"(fresh), [to] "r"(old)SLAB_DELAY_INPUT
		     : "rax", "rcx", "rsi", "memory", "cc"
		     : moved, closed);
	return SLAB_DONE;
moved:
	return SLAB_MOVED;
closed:
	return SLAB_CLOSED;
}

#elif CF_BUILT_SIMULATED

static CF_UNHOOKED int slab_unhooked_pop(struct cf_slab_cpu *own, uint32_t cpu, void **object)
{
	struct cf_slab_magazine *m = own->loaded;
	if (CF_UNHOOKED_MOVED(cpu) || own->gate)
		return own->gate ? SLAB_CLOSED : SLAB_MOVED;
	if (!m || !(m->word & SLAB_COUNT))
		return SLAB_NONE;
	*object = m->objects[(m->word & SLAB_COUNT) - 1];
	m->word += SLAB_POP;
	return SLAB_DONE;
}

static CF_UNHOOKED int slab_unhooked_push(struct cf_slab_cpu *own, uint32_t cpu, void *object, uint32_t most)
{
	struct cf_slab_magazine *m = own->loaded;
	if (CF_UNHOOKED_MOVED(cpu) || own->gate)
		return own->gate ? SLAB_CLOSED : SLAB_MOVED;
	if (!m || (m->word & SLAB_COUNT) >= most)
		return SLAB_NONE;
	m->objects[m->word & SLAB_COUNT] = object;
	m->word++;
	return SLAB_DONE;
}

static CF_UNHOOKED int slab_unhooked_swap(struct cf_slab_cpu *own, uint32_t cpu, struct cf_slab_magazine *fresh,
					  struct cf_slab_magazine **old)
{
	if (CF_UNHOOKED_MOVED(cpu) || own->gate)
		return own->gate ? SLAB_CLOSED : SLAB_MOVED;
	*old = own->loaded;
	own->loaded = fresh;
	return SLAB_DONE;
}

/* What a sequence would read of the magazine. Another thread may load another one meanwhile: then it is that one's lines. */
static CF_UNHOOKED struct cf_slab_magazine *slab_unhooked_loaded(struct cf_slab_cpu *own, void ***place)
{
	struct cf_slab_magazine *m = own->loaded;
	*place = m ? &m->objects[m->word & SLAB_COUNT] : NULL; /* magazines live as long as the cache */
	return m;
}

static inline int slab_pop_once(struct cf_slab *s, void **object)
{
	struct cf_slab_magazine *m;
	struct cf_slab_cpu *own;
	void **place;
	uint32_t cpu;
	int result;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return SLAB_MOVED;
	cpu = cf_cpu_hint();
	own = &s->cpus[cpu];
	CF_SEEN_READ(own, 16);
	if ((m = slab_unhooked_loaded(own, &place)) != NULL) {
		CF_SEEN_READ(&m->word, 8);
		if (place > m->objects)
			CF_SEEN_READ(place - 1, 8);
	}
	CF_UNSEEN_INSTRUCTIONS();
	result = slab_unhooked_pop(own, cpu, object);
	if (result == SLAB_DONE && m)
		CF_SEEN_WRITE(&m->word, 8);
	return result;
}

static inline int slab_push_once(struct cf_slab *s, void *object)
{
	struct cf_slab_magazine *m;
	struct cf_slab_cpu *own;
	void **place;
	uint32_t cpu;
	int result;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return SLAB_MOVED;
	cpu = cf_cpu_hint();
	own = &s->cpus[cpu];
	CF_SEEN_READ(own, 16);
	if ((m = slab_unhooked_loaded(own, &place)) != NULL)
		CF_SEEN_READ(&m->word, 8);
	CF_UNSEEN_INSTRUCTIONS();
	result = slab_unhooked_push(own, cpu, object, s->magazine);
	if (result == SLAB_DONE && m) {
		CF_SEEN_WRITE(place, 8);
		CF_SEEN_WRITE(&m->word, 8);
	}
	return result;
}

static inline int slab_swap_once(struct cf_slab *s, struct cf_slab_magazine *fresh, struct cf_slab_magazine **old)
{
	struct cf_slab_cpu *own;
	uint32_t cpu;
	int result;
	if (cf_cpu_state.mode != CF_CPU_SIMULATED)
		return SLAB_MOVED;
	cpu = cf_cpu_hint();
	own = &s->cpus[cpu];
	CF_SEEN_READ(own, 16);
	CF_UNSEEN_INSTRUCTIONS();
	result = slab_unhooked_swap(own, cpu, fresh, old);
	if (result == SLAB_DONE)
		CF_SEEN_WRITE(own, 8);
	return result;
}

#else

#define slab_pop_once(s, object) ((void)(s), (void)(object), SLAB_MOVED)
#define slab_push_once(s, object) ((void)(s), (void)(object), SLAB_MOVED)
#define slab_swap_once(s, fresh, old) ((void)(s), (void)(fresh), (void)(old), SLAB_MOVED)

#endif
#endif
