// SPDX-License-Identifier: MIT OR Apache-2.0
// A CPU's two magazines, and the depot. The loaded one is changed by restartable sequences of its CPU's threads
// (slab_paths.h), the previous one by atomic exchanges. Any other magazine is one thread's, or the depot's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "slab_paths.h"

#include <stdlib.h>

#ifdef CF_TEST_POINTS
uint32_t cf_slab_test_delay;
#endif

// ---- the depot

static struct cf_slab_magazine *new_magazine(struct cf_slab *s)
{
	size_t bytes = sizeof(struct cf_slab_magazine) + s->magazine * sizeof(void *);
	struct cf_slab_magazine *m = aligned_alloc(CF_LINE, (bytes + CF_LINE - 1) / CF_LINE * CF_LINE);
	if (m)
		slab_set_word(m, 0);
	return m;
}

// Relaxed: the counts are looked at without the depot's lock, too.
static void push(struct cf_slab_magazine **list, uint32_t *count, struct cf_slab_magazine *m)
{
	m->next = *list;
	*list = m;
	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

static struct cf_slab_magazine *pop(struct cf_slab_magazine **list, uint32_t *count)
{
	struct cf_slab_magazine *m = *list;
	if (m) {
		*list = m->next;
		__atomic_store_n(count, *count - 1, __ATOMIC_RELAXED);
	}
	return m;
}

// A full magazine for an empty one, which may be null; null: there is none, and the empty one stays the caller's.
static struct cf_slab_magazine *full_for_empty(struct cf_slab *s, struct cf_slab_magazine *empty)
{
	struct cf_slab_magazine *full;
	struct cf_mcs_node node;
	// Relaxed: where one has come or gone meanwhile, slabs serve as well.
	if (!__atomic_load_n(&s->full_count, __ATOMIC_RELAXED))
		return NULL;
	cf_mcs_lock(&s->depot, &node);
	full = pop(&s->full, &s->full_count);
	if (full && empty)
		push(&s->empty, &s->empty_count, empty);
	s->exchanges += full != NULL;
	cf_mcs_unlock(&s->depot, &node);
	return full;
}

void slab_flush(struct cf_slab *s, struct cf_slab_magazine *m)
{
	slab_give(s, m->objects, slab_count_of(m));
	slab_set_word(m, 0);
}

// An empty magazine for a full one, which may be null. If the depot has enough full ones, the full one is emptied.
static struct cf_slab_magazine *empty_for_full(struct cf_slab *s, struct cf_slab_magazine *full)
{
	struct cf_slab_magazine *empty = NULL;
	struct cf_mcs_node node;
	bool enough;
	cf_mcs_lock(&s->depot, &node);
	enough = full && s->full_count >= s->cpu_count;
	if (!enough) {
		empty = pop(&s->empty, &s->empty_count);
		if (empty && full)
			push(&s->full, &s->full_count, full);
		s->exchanges += empty != NULL;
	}
	cf_mcs_unlock(&s->depot, &node);
	if (empty)
		return empty;
	if (!enough && (empty = new_magazine(s)) != NULL) {
		if (!full)
			return empty;
		cf_mcs_lock(&s->depot, &node);
		push(&s->full, &s->full_count, full);
		s->exchanges++;
		cf_mcs_unlock(&s->depot, &node);
		return empty;
	}
	if (full)
		slab_flush(s, full);
	return full;
}

// Either list, as it fits; null is nothing.
void slab_into_depot(struct cf_slab *s, struct cf_slab_magazine *m)
{
	struct cf_mcs_node node;
	if (!m)
		return;
	if (slab_count_of(m) && __atomic_load_n(&s->full_count, __ATOMIC_RELAXED) >= s->cpu_count) // relaxed: about so many
		slab_flush(s, m);
	cf_mcs_lock(&s->depot, &node);
	if (slab_count_of(m))
		push(&s->full, &s->full_count, m);
	else
		push(&s->empty, &s->empty_count, m);
	cf_mcs_unlock(&s->depot, &node);
}

// ---- this CPU's loaded magazine

static struct cf_slab_cpu *lock_cpu(struct cf_slab *s)
{
	uint32_t cpu = cf_cpu_current();
	struct cf_slab_cpu *own = &s->cpus[slab_is_locked(cpu) ? cpu : cf_cpu_count()];
	cf_qspin_lock(&own->lock);
	return own;
}

// Whether an attempt is to be made again. A native library in the lab has no last CPU's part; and nothing interrupts it.
static bool again(struct cf_slab *s, int result, int *tries)
{
	enum { TRIES = 100 };
	if (!CF_BUILT_RSEQ)
		return false;
	if (result == SLAB_CLOSED) { // acquire: after who drained
		const struct cf_slab_cpu *own = &s->cpus[cf_cpu_current()];
		CF_LOCK_WAIT_UNTIL(!__atomic_load_n(&own->gate, __ATOMIC_ACQUIRE));
		return true;
	}
	return result == SLAB_MOVED && (cf_cpu_state.mode == CF_CPU_SIMULATED || (++*tries < TRIES && !slab_is_locked(cf_cpu_current())));
}

int slab_pop(struct cf_slab *s, void **object)
{
	struct cf_slab_magazine *m;
	struct cf_slab_cpu *own;
	int tries = 0, result;
	while (again(s, result = slab_pop_once(s, object), &tries))
		;
	if (result != SLAB_MOVED)
		return result;
	own = lock_cpu(s);
	m = own->loaded;
	result = m && (m->word & SLAB_COUNT) ? SLAB_DONE : SLAB_NONE;
	if (result == SLAB_DONE) {
		*object = m->objects[(m->word & SLAB_COUNT) - 1];
		slab_set_word(m, m->word + SLAB_POP);
	}
	cf_qspin_unlock(&own->lock);
	return result;
}

int slab_push(struct cf_slab *s, void *object)
{
	struct cf_slab_magazine *m;
	struct cf_slab_cpu *own;
	int tries = 0, result;
	while (again(s, result = slab_push_once(s, object), &tries))
		;
	if (result != SLAB_MOVED)
		return result;
	own = lock_cpu(s);
	m = own->loaded;
	result = m && (m->word & SLAB_COUNT) < s->magazine ? SLAB_DONE : SLAB_NONE;
	if (result == SLAB_DONE) {
		m->objects[m->word & SLAB_COUNT] = object;
		slab_set_word(m, m->word + 1);
	}
	cf_qspin_unlock(&own->lock);
	return result;
}

// Relaxed: figures for statistics.
void slab_settle(struct cf_slab_cpu *cpu, struct cf_slab_magazine *m)
{
	uint64_t count = m->word & SLAB_COUNT, pops = m->word >> 16;
	__atomic_fetch_add(&cpu->allocations, pops, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cpu->frees, count + pops - m->base, __ATOMIC_RELAXED);
	slab_set_word(m, count);
}

// Loads a magazine; returns the one that was loaded, or null.
static struct cf_slab_magazine *load(struct cf_slab *s, struct cf_slab_magazine *fresh)
{
	struct cf_slab_magazine *old;
	struct cf_slab_cpu *own;
	int tries = 0, result;
	__atomic_store_n(&fresh->base, fresh->word, __ATOMIC_RELAXED); // relaxed, as the word
	while (again(s, result = slab_swap_once(s, fresh, &old), &tries))
		;
	if (result == SLAB_MOVED) {
		own = lock_cpu(s);
		old = own->loaded;
		// Release: for statistics. x86 cannot tell, its loads and stores stay in order; aarch64 and POWER can.
		__atomic_store_n(&own->loaded, fresh, __ATOMIC_RELEASE);
		cf_qspin_unlock(&own->lock);
	}
	if (old)
		slab_settle(&s->cpus[cf_cpu_current()], old);
	return old;
}

// ---- this CPU's previous magazine

struct cf_slab_magazine *slab_exchange(struct cf_slab_cpu *cpu, struct cf_slab_magazine *m)
{
	// Acquire and release: with the thread that put it there, and with the one that takes it.
	return __atomic_exchange_n(&cpu->previous, m, __ATOMIC_ACQ_REL);
}

static struct cf_slab_magazine *previous(struct cf_slab *s)
{
	return slab_exchange(&s->cpus[cf_cpu_current()], NULL);
}

void slab_rotate(struct cf_slab *s, struct cf_slab_magazine *fresh)
{
	struct cf_slab_magazine *old = load(s, fresh);
	if (old)
		slab_into_depot(s, slab_exchange(&s->cpus[cf_cpu_current()], old));
}

struct cf_slab_magazine *slab_with_objects(struct cf_slab *s)
{
	struct cf_slab_magazine *m = previous(s), *full;
	if (m && slab_count_of(m))
		return m;
	full = full_for_empty(s, m);
	if (full)
		return full;
	if (!m && !(m = new_magazine(s)))
		return NULL;
	slab_set_word(m, slab_take(s, m->objects, s->magazine));
	if (slab_count_of(m))
		return m;
	slab_into_depot(s, m);
	return NULL;
}

struct cf_slab_magazine *slab_with_room(struct cf_slab *s)
{
	struct cf_slab_magazine *m = previous(s);
	return m && slab_count_of(m) < s->magazine ? m : empty_for_full(s, m);
}
